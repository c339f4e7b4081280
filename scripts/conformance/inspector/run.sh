#!/usr/bin/env bash
# run.sh DOCSEEK: the official MCP Inspector (pinned here, 111 MB) against the built binary and the bundled site, over HTTP
# and stdio. Exits 1 on an error, and on a warning about any tool but those of approved operations: a nullable variable is
# declared as two types there. Not part of make conformance: `npm ci` refuses the lock, since an optional package that the
# Inspector's tree names is not in the registry, so this takes `npm install`. Needs the Node that ../run.sh installs.
set -euo pipefail
docseek=$(realpath "${1:?usage: run.sh DOCSEEK}")
cd "$(dirname "$0")"
npm install --no-audit --no-fund --no-save --loglevel=error
PATH=$(realpath ../node_modules/.bin):$PWD/node_modules/.bin:$PATH
export PATH MCP_INSPECTOR_SECRET_STORE=memory
work=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$docseek" --data-dir "$work/data" demo --listen "127.0.0.1:$port" 2>"$work/log" &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  grep -q '^Ask it:' "$work/log" && break
  kill -0 $pid 2>/dev/null || { cat "$work/log"; exit 1; }
  sleep 0.2
done
http=("http://127.0.0.1:$port/mcp" --transport http)
stdio=(-- "$docseek" --data-dir "$work/data" serve --stdio --no-schedule)
operations=$(mcp-inspector --cli "${http[@]}" --method tools/list --format json -q 2>/dev/null |
  node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => {
    const own = /^(search_docs|read_docs|list_docs|(search|validate|execute)_graphql(_schema)?|inspect_graphql_type)$/;
    console.log(["-", ...JSON.parse(s).result.tools.map((t) => t.name).filter((n) => !own.test(n))].join("|"));
  })')
status=0
# ask NAME ARGUMENT... asks by the Inspector.
ask() {
  if mcp-inspector --cli "${@:2}" >"$work/out" 2>"$work/err" && ! grep '^Warning' "$work/err" | grep -vE "\"($operations)\""; then
    echo "ok    inspector, $1"
  else
    echo "FAIL  inspector, $1"
    cat "$work/out" "$work/err"
    status=1
  fi
}
for method in "tools/list --strict" "tools/call --tool-name search_docs --tool-arg query=limits" resources/templates/list prompts/list; do
  for era in modern legacy; do
    # shellcheck disable=SC2086 # the words of a method
    ask "HTTP, $era: $method" "${http[@]}" --protocol-era $era --method $method --format json -q
  done
  # shellcheck disable=SC2086
  ask "stdio: $method" --method $method --format json -q "${stdio[@]}"
done
exit $status
