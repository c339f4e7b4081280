#!/usr/bin/env bash
# Prints the path of Chromium, which it installs if need be: the build of the
# Debian release that this machine runs. For tests only.
set -euo pipefail

if ! command -v chromium >/dev/null; then
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "chromium.sh: Chromium is needed; on Debian as root: apt-get install -y --no-install-recommends chromium" >&2
    exit 1
  fi
  apt-get update -qq >&2
  apt-get install -y -qq --no-install-recommends chromium >&2
fi
command -v chromium
