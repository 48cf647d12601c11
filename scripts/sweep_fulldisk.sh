#!/usr/bin/env bash
# A sweep whose disk fills in the middle: it says so, waits, and continues when there is room. In the end every run is there once.
# Once with the little room left that a run wants free, once with none at all. Needs root (a small tmpfs) and Go.
#   sudo scripts/sweep_fulldisk.sh
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
go build -o "$work/bregman" ./cmd/bregman
mkdir "$work/disk"
mount -t tmpfs -o size=80m tmpfs "$work/disk"
pid=
trap 'kill $pid 2>/dev/null || true; umount -l "$work/disk"; rm -rf "$work"' EXIT
cat > "$work/s.toml" <<'TOML'
job    = "fit"
trials = 30
[settings]
data  = "r100:{seed}"
lr    = 1e-4
steps = 500_000
[grid]
p = [1.5, 2, 3]
TOML
cd "$work"
for size in 60 80; do # MB to fill
  out=disk/sweep-$size
  ./bregman sweep s.toml --out $out > out 2> err & pid=$!
  until [ "$(ls $out/trials 2>/dev/null | wc -l)" -ge 10 ]; do sleep 0.1; done
  dd if=/dev/zero of=disk/filler bs=1M count=$size 2> /dev/null || true
  sleep 8
  n=$(ls $out/trials | wc -l)
  sleep 4
  echo "$size MB more: $n, then $(ls $out/trials | wc -l) of 90 runs; it says:"
  grep -m1 "full\|no space" err || { echo "nothing"; cat err; exit 1; }
  kill -0 $pid || { echo "the sweep has ended"; cat err; exit 1; }
  rm disk/filler
  wait $pid || { cat err; exit 1; }
  echo "with room again: $(ls $out/trials | wc -l) runs, $(sort -u $out/metrics.jsonl | wc -l) lines"
  rm -rf $out
done
