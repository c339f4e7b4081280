"""Embeds texts with ONNX Runtime as often as it is told.

    python worker.py FLOAT32.onnx INT8.onnx

reads lines "f32 TOKENS SECONDS" or "int8 TOKENS SECONDS", embeds a text of that
many tokens for at least so many seconds of processor time on one thread, and
answers with the number of texts and the seconds. The second file is made of the
first where it is missing: quantised dynamically, weights per channel.
"""

import logging
import pathlib
import sys
import time

from onnxruntime.quantization import QuantType, quantize_dynamic

from model import Model

CLS, SEP, WORD = 101, 102, 2773


def main(original, quantised):
    if not pathlib.Path(quantised).exists():
        logging.disable(logging.WARNING)
        quantize_dynamic(original, quantised, per_channel=True, weight_type=QuantType.QInt8)
    models = {"f32": Model(original), "int8": Model(quantised)}
    print("ready", flush=True)
    for line in sys.stdin:
        name, tokens, seconds = line.split()
        ids = [CLS] + [WORD] * (int(tokens) - 2) + [SEP]
        count, began, spent = 0, time.process_time(), 0.0
        while spent < float(seconds):
            models[name].embed(ids)
            count += 1
            spent = time.process_time() - began
        print(count, spent, flush=True)


main(*sys.argv[1:])
