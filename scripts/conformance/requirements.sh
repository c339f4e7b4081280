#!/usr/bin/env bash
# Runs all that the specification's requirement sets ask of a server against docseek's handler with the suite's tools,
# resources and prompts mounted beside its own (server/fixture_test.go), and the official clients where they need such tools
# (fixtures.mjs). Exits 1 when the scenarios that fail are not those of requirements.txt, neither more nor fewer. Needs
# what run.sh installs.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=scripts/conformance
PATH=$PWD/$dir/node_modules/.bin:$PATH
work=$(mktemp -d)
go test -c -o "$work/server" ./server
# serve NAME [ENV...] starts the server and sets the variable NAME to its address.
serve() {
  local -n address=$1
  address=127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  env "${@:2}" DOCSEEK_TEST_SERVE=$address DOCSEEK_TEST_FIXTURES=1 "$work/server" 2>"$work/$1.log" &
  pids+=($!)
  for _ in $(seq 100); do
    (exec 3<>"/dev/tcp/${address/://}") 2>/dev/null && return
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.1
  done
  cat "$work/$1.log"
  exit 1
}
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$work"' EXIT
serve open
serve protected DOCSEEK_TEST_TOKEN=of-the-test
status=0
node $dir/fixtures.mjs "http://$open/mcp" "http://$protected/mcp" of-the-test "$work/server" || status=1
for revision in 2025-11-25 2026-07-28; do
  conformance server --url "http://$open/mcp" --requirements $revision >"$work/$revision" 2>&1 || true
  # The summary names every scenario; what is not scored comes again at its end, with the reason in brackets.
  sed -n '/=== SUMMARY ===/,$p' "$work/$revision" >"$work/summary"
  sed -nE 's/^ +[✓✗] ([a-z0-9-]+) \(.*/\1/p' "$work/summary" | sort >"$work/unscored"
  sed -nE 's/^✗ ([a-z0-9-]+): .*/\1/p' "$work/summary" | sort | comm -23 - "$work/unscored" >"$work/failed"
  passed=$(sed -nE 's/^✓ ([a-z0-9-]+): .*/\1/p' "$work/summary" | sort | comm -23 - "$work/unscored" | wc -l)
  sed -nE "s/^$revision ([a-z0-9-]+)$/\1/p" $dir/requirements.txt | sort >"$work/expected"
  if [[ $passed -lt 15 ]]; then
    cat "$work/$revision"
    echo "FAIL  $revision: only $passed scenarios passed"
    status=1
  elif ! diff "$work/expected" "$work/failed" >"$work/diff"; then
    sed -n 's/^> /FAIL  fails and is not expected to: /p; s/^< /FAIL  passes and is listed as failing: /p' "$work/diff"
    grep -A40 -F "=== Failed Checks" "$work/$revision" | head -200 || true
    status=1
  else
    echo "ok    $revision requirements: $passed scenarios pass, $(wc -l <"$work/expected") fail as expected"
  fi
done
exit $status
