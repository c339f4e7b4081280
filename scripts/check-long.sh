#!/usr/bin/env bash
# check-long.sh SHARED: all real sites and their questions, then every fuzz target for a while.
set -euo pipefail
shared=${1:?usage: check-long.sh SHARED}
[[ -d $shared/eval ]] || { echo "there is no $shared/eval: this target needs the folder with the evaluation data"; exit 1; }
sites=.cache/sites
bash "$shared/eval/fetch-sites.sh" "$sites" >/dev/null
python3 scripts/checksites.py ./docseek "$sites" "$shared/eval/questions" --floor hybrid:0.60:0.79 --floor lexical:0.42:0.62 \
  griffe gatekeeper-vitepress gatekeeper git-2.39 python-3.11 postgresql-15
go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r package dir; do
  { grep -rhoE '^func (Fuzz[A-Za-z0-9_]+)' "$dir"/*_test.go 2>/dev/null || true; } | awk '{print $2}' | while read -r target; do
    echo "== fuzz $package $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-60s}" "$package"
  done
done
