"""Serves an ONNX file of all-MiniLM-L6-v2 as an OpenAI-compatible API, to compare what is found with it.

    python server.py MODEL.onnx TOKENIZER.json PORT
"""

import base64
import concurrent.futures
import http.server
import json
import os
import sys

import numpy as np
from tokenizers import Tokenizer

from model import Model

LIMIT = 256


def main(path, tokenizer_path, port):
    model, tokenizer = Model(path), Tokenizer.from_file(tokenizer_path)
    tokenizer.no_padding()
    tokenizer.enable_truncation(LIMIT)
    workers = concurrent.futures.ThreadPoolExecutor(os.cpu_count())

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = request["input"]
            encoded = tokenizer.encode_batch([texts] if isinstance(texts, str) else texts)
            vectors = workers.map(lambda e: model.embed(e.ids), encoded)

            def render(v):
                if request.get("encoding_format") == "base64":
                    return base64.b64encode(np.asarray(v, "<f4").tobytes()).decode()
                return v.tolist()

            data = [{"object": "embedding", "index": i, "embedding": render(v)} for i, v in enumerate(vectors)]
            tokens = sum(len(e.ids) for e in encoded)
            body = json.dumps({
                "object": "list", "model": request["model"], "data": data,
                "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
            }).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


main(*sys.argv[1:])
