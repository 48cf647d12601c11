#!/usr/bin/env bash
# Makes the PTX of each kernel file with Debian's clang-19, which needs no CUDA toolkit:
#
#	apt-get install clang-19 && engine/pjrt/kernels/build.sh
#
# sm_80 is an A100; newer GPUs compile the same text for themselves.
set -euo pipefail
cd "$(dirname "$0")"
for source in *.cu; do
  "${CLANG:-clang++-19}" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -std=c++17 -O3 \
    -Wall -Wextra -Wno-unused-function -ffp-contract=fast -S "$source" -o - |
    grep -vE '^\s*//|^\s*$|\.loc\b|\.file\b' >"${source%.cu}.ptx"
done
