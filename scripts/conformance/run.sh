#!/bin/sh
# Runs the official MCP clients and the official conformance suite against a
# running docseek server.
#
#   scripts/conformance/run.sh URL [COMMAND ARGUMENT...]
#
# URL is the server's /mcp; it needs at least one indexed page. COMMAND starts
# the same server on stdio; without it stdio is left out. Needs npm; Node itself
# is among the pinned packages. Exits 1 when anything fails that the baselines
# (legacy.yml, modern.yml) do not name, and when something passes that they do.
set -eu

if [ $# -lt 1 ]; then
	echo "usage: $0 URL [COMMAND ARGUMENT...]" >&2
	exit 2
fi
url=$1
dir=$(cd "$(dirname "$0")" && pwd)

# The packages are installed anew only when the lock changed.
stamp=$dir/node_modules/.installed
if ! cmp -s "$dir/package-lock.json" "$stamp"; then
	(cd "$dir" && npm ci --no-audit --no-fund --loglevel=error)
	cp "$dir/package-lock.json" "$stamp"
fi
PATH=$dir/node_modules/.bin:$PATH
export PATH
if ! node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 22 ? 0 : 1)'; then
	echo "$0: the suite needs Node 22 or newer, this is $(node --version):" \
		"let npm run the install script of the package node, or put such a Node into PATH" >&2
	exit 1
fi

status=0
node "$dir/clients.mjs" "$@" || status=1

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# suite VERSION BASELINE SCENARIO...
suite() {
	version=$1 baseline=$dir/$2
	shift 2
	for scenario; do
		if conformance server --url "$url" --spec-version "$version" --scenario "$scenario" \
			--expected-failures "$baseline" >"$log" 2>&1 && ! grep -q '^SKIPPED' "$log"; then
			printf 'ok    %s %s: %s\n' "$version" "$scenario" "$(grep '^Passed:' "$log" | tail -1)"
		else
			status=1
			printf 'FAIL  %s %s\n' "$version" "$scenario"
			cat "$log"
		fi
	done
}

# The scenarios that ask nothing of a server but what every server has. The
# others call tools, prompts and resources made for the suite.
suite 2025-11-25 legacy.yml \
	server-initialize ping tools-list resources-list prompts-list \
	completion-complete dns-rebinding-protection
suite 2026-07-28 modern.yml \
	server-stateless tools-list resources-list prompts-list \
	completion-complete dns-rebinding-protection caching \
	http-header-validation sep-2164-resource-not-found \
	server-sse-multiple-streams input-required-result-unsupported-methods

exit $status
