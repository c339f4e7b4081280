#!/usr/bin/env bash
# arm64.sh: the tests of the kernels for arm64 in an emulator, once on a processor
# with the dot products of FEAT_DotProd and once without, and whether the model
# gives the bits there that it gives elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
qemu=$(scripts/qemu.sh)
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

export GOOS=linux GOARCH=arm64 CGO_ENABLED=0
go vet ./embed/encoder/internal/kernel
go test -c -o "$built/kernel" ./embed/encoder/internal/kernel
go test -c -o "$built/builtin" ./embed/builtin
for cpu in max cortex-a53; do
  echo "$cpu: the kernels"
  (cd embed/encoder/internal/kernel && "$qemu" -cpu "$cpu" "$built/kernel")
  echo "$cpu: the model"
  (cd embed/builtin && "$qemu" -cpu "$cpu" "$built/builtin" -test.run 'EveryMachine')
done
