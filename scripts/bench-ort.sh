#!/usr/bin/env bash
# bench-ort.sh [FLAG...]: the builtin model beside ONNX Runtime with the same model in 32-bit floats and in 8-bit
# integers. See ort.sh for what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
onnx=$(scripts/ort.sh)
cache=$PWD/.cache/ort
go run ./scripts/bench-ort "$@" "$cache/venv/bin/python" scripts/bench-ort/worker.py "$onnx" "$cache/all-minilm-l6-v2.int8.onnx"
