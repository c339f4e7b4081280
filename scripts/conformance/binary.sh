#!/usr/bin/env bash
# binary.sh DOCSEEK: indexes the bundled site with the built binary, and runs the official MCP clients and conformance
# suite against it over HTTP and stdio.
set -euo pipefail
docseek=$(realpath "${1:?usage: binary.sh DOCSEEK}")
dir=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
: >"$work/log"
"$docseek" --data-dir "$work/data" demo --listen "127.0.0.1:$port" 2>"$work/log" &
pid=$!
trap 'kill $pid 2>/dev/null; wait $pid 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  grep -q '^Ask it:' "$work/log" && break
  kill -0 $pid 2>/dev/null || { cat "$work/log"; exit 1; }
  sleep 0.2
done
"$dir/run.sh" "http://127.0.0.1:$port/mcp" "$docseek" --data-dir "$work/data" serve --stdio --no-schedule
