#!/usr/bin/env bash
# Prints the path of qemu-aarch64-static, which runs programs for linux/arm64: the
# installed one, or that of Debian's package, unpacked into .cache. For tests only.
set -euo pipefail

if command -v qemu-aarch64-static; then
  exit
fi
cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/qemu
binary=$cache/usr/bin/qemu-aarch64-static
if [[ ! -x $binary ]]; then
  command -v apt-get >/dev/null || { echo "qemu.sh: install qemu-user-static, 7.2 or newer" >&2; exit 1; }
  mkdir -p "$cache"
  cd "$cache"
  apt-get download -qq 'qemu-user-static=1:7.2*' >&2 || {
    apt-get update -qq >&2
    apt-get download -qq 'qemu-user-static=1:7.2*' >&2
  }
  dpkg-deb --extract qemu-user-static_*.deb .
  rm qemu-user-static_*.deb
fi
echo "$binary"
