#!/usr/bin/env bash
# Makes the figures of docs/ again that can be made from files alone, and notes in docs/figures.json what they are of:
#
#   scripts/figures.sh                   all but the slow ones
#   scripts/figures.sh compression.png   one
#
# Look at them before you commit them.
set -euo pipefail
cd "$(dirname "$0")/.."
go test ./cmd/bregman -count=1 -v -run EveryFigureSaysWhatMadeIt -figures.make "${1:-.}"
git status --short docs
