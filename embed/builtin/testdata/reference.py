"""Fills the golden files with what the reference implementation gives.

    python reference.py MODEL_DIR

takes the texts of vectors.jsonl and of ../../encoder/testdata/tokens.jsonl and
writes their vectors and token ids anew. characters.txt beside the latter gets a
line per 4096 code points: the first, and the SHA-256 of the token ids (32-bit,
little-endian) of each of them between the letters a and b. MODEL_DIR holds model.safetensors and
tokenizer.json of sentence-transformers/all-MiniLM-L6-v2. Token ids come from
Hugging Face tokenizers, vectors from the original weights in 32-bit floats.
Needs the packages numpy and tokenizers.

A vector is stored as 384 little-endian 16-bit integers, in steps of 1/32767.
"""

import base64
import hashlib
import json
import math
import pathlib
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

LAYERS, HEADS, LIMIT = 6, 12, 256
HERE = pathlib.Path(__file__).parent
TOKENS = HERE / "../../encoder/testdata"


class Model:
    def __init__(self, folder):
        data = (folder / "model.safetensors").read_bytes()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__", None)
        self.weights = {
            name: np.frombuffer(data, np.float32, math.prod(t["shape"]), 8 + length + t["data_offsets"][0]).reshape(t["shape"])
            for name, t in header.items()
            if t["dtype"] == "F32"
        }

    def linear(self, x, name):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def embed(self, ids):
        n = len(ids)
        e = "embeddings."
        x = self.weights[e + "word_embeddings.weight"][ids]
        x = x + self.weights[e + "position_embeddings.weight"][:n] + self.weights[e + "token_type_embeddings.weight"][0]
        x = self.norm(x, e + "LayerNorm")
        for i in range(LAYERS):
            layer = f"encoder.layer.{i}."
            q, k, v = (
                self.linear(x, layer + "attention.self." + part).reshape(n, HEADS, -1).transpose(1, 0, 2)
                for part in ("query", "key", "value")
            )
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(q.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            context = (scores @ v).transpose(1, 0, 2).reshape(n, -1)
            x = self.norm(x + self.linear(context, layer + "attention.output.dense"), layer + "attention.output.LayerNorm")
            wide = self.linear(x, layer + "intermediate.dense")
            wide = (0.5 * wide * (1 + erf(wide / math.sqrt(2)))).astype(np.float32)
            x = self.norm(x + self.linear(wide, layer + "output.dense"), layer + "output.LayerNorm")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


erf = np.vectorize(math.erf, otypes=[np.float64])


def rewrite(path, fill):
    entries = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({"text": e["text"]} | fill(e["text"])) + "\n" for e in entries))


def main(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rewrite(TOKENS / "tokens.jsonl", lambda text: {"ids": tokenizer.encode(text).ids})
    with open(TOKENS / "characters.txt", "w") as characters:
        for block in range(0, 0x110000, 4096):
            points = [p for p in range(block, block + 4096) if not 0xD800 <= p < 0xE000]
            encoded = tokenizer.encode_batch([f"a{chr(p)}b" for p in points])
            ids = np.concatenate([e.ids for e in encoded] or [[]]).astype("<i4")
            characters.write(f"{block:06x} {hashlib.sha256(ids.tobytes()).hexdigest()}\n")
    tokenizer.enable_truncation(LIMIT)
    model = Model(folder)

    def vector(text):
        v = np.rint(model.embed(tokenizer.encode(text).ids) * 32767).astype("<i2")
        return {"vector": base64.b64encode(v.tobytes()).decode()}

    rewrite(HERE / "vectors.jsonl", vector)


main(pathlib.Path(sys.argv[1]))
