#!/usr/bin/env bash
# check-schemas.sh DIR: large GraphQL schemas of real APIs, and questions on them
# (DIR/labelled_queries.jsonl). They load without loss, the questions find their
# fields, and every answer is enough to write a valid document. Every operation
# becomes a tool, in so much time, and what a new version breaks is named.
set -euo pipefail
dir=${1:?usage: check-schemas.sh DIR}
[[ -f $dir/labelled_queries.jsonl ]] || { echo "there is no $dir/labelled_queries.jsonl: this check needs the folder with the schemas"; exit 1; }
DOCSEEK_SCHEMAS=$(cd "$dir" && pwd)
export DOCSEEK_SCHEMAS
go test -count=1 -run 'Shared' -v ./graphql/... | grep -vE '^(=== RUN|=== PAUSE|=== CONT|testing: warning)'
go test -run '^$' -bench 'Shared' ./graphql/operations | grep '^Benchmark'
