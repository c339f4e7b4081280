#!/usr/bin/env bash
# generated.sh: runs the generators whose inputs are in the project, and fails when a committed file differs.
set -euo pipefail
cd "$(dirname "$0")/.."
before=$(git status --porcelain)
go generate -run 'asm' ./embed/...
after=$(git status --porcelain)
if [[ $before != "$after" ]]; then
  echo "generated files are not what their generators make:"
  git diff --stat
  exit 1
fi
