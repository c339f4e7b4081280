"""Lays a BERT encoder that was published as ONNX out as Hugging Face does, with
the vectors that ONNX Runtime gives: make.py ONNX TOKENIZER TEXTS cls|mean FOLDER

TEXTS is JSON lines with a key "text". Needs onnx, onnxruntime, tokenizers, numpy."""
import json
import shutil
import struct
import sys
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper
from tokenizers import Tokenizer

source, tokenizer, texts, pooling, folder = sys.argv[1:]
folder = Path(folder)
(folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
graph = onnx.load(source).graph
arrays = {i.name: numpy_helper.to_array(i) for i in graph.initializer}

# Weights of linear layers have lost their names and stand as [in][out].
tensors = {name: a for name, a in arrays.items() if name.startswith(("embeddings.", "encoder.layer."))}
for node in graph.node:
    if node.op_type == "MatMul" and node.input[1] in arrays:
        tensors[node.name.removesuffix("/MatMul").lstrip("/").replace("/", ".") + ".weight"] = arrays[node.input[1]].T

header, data = {}, b""
for name in sorted(tensors):
    raw = numpy.ascontiguousarray(tensors[name], dtype="<f4").tobytes()
    header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
(folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)

pieces, hidden = tensors["embeddings.word_embeddings.weight"].shape
json.dump({
    "model_type": "bert", "hidden_act": "gelu", "vocab_size": pieces, "hidden_size": hidden, "pad_token_id": 0,
    "intermediate_size": tensors["encoder.layer.0.intermediate.dense.weight"].shape[0], "layer_norm_eps": 1e-12,
    "num_hidden_layers": len({n.split(".")[2] for n in tensors if n.startswith("encoder.layer.")}),
    "num_attention_heads": hidden // 32, "max_position_embeddings": tensors["embeddings.position_embeddings.weight"].shape[0],
}, open(folder / "config.json", "w"))
kind = "sentence_transformers.models."
json.dump([{"path": "", "type": kind + "Transformer"}, {"path": "1_Pooling", "type": kind + "Pooling"},
           {"path": "2_Normalize", "type": kind + "Normalize"}], open(folder / "modules.json", "w"))
json.dump({"pooling_mode_cls_token": pooling == "cls", "pooling_mode_mean_tokens": pooling == "mean"},
          open(folder / "1_Pooling" / "config.json", "w"))
shutil.copy(tokenizer, folder / "tokenizer.json")

session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
encode = Tokenizer.from_file(tokenizer)
encode.no_padding()
encode.enable_truncation(512)
with open(folder / "vectors.jsonl", "w") as out:
    for line in open(texts):
        text = json.loads(line)["text"]
        ids = numpy.array([encode.encode(text).ids], dtype="int64")
        x = session.run(None, {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)})[0][0]
        v = x[0] if pooling == "cls" else x.mean(axis=0)
        out.write(json.dumps({"text": text, "vector": [round(float(f), 6) for f in v / numpy.linalg.norm(v)]}) + "\n")
