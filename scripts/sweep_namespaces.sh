#!/usr/bin/env bash
# Three workers in three network namespaces against a real nats-server; one of them is cut off for 30 s in the middle.
# In the end every run is there once, with the result of a sweep on one machine. Needs root (ip netns), Go, and about two minutes.
#   sudo scripts/sweep_namespaces.sh
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d) cut=${CUT:-30}
go build -o "$work/bregman" ./cmd/bregman
go build -o "$work/nats-server" github.com/nats-io/nats-server/v2

spaces=(bq bw1 bw2 bw3) pids=()
cleanup() {
  for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
  for s in "${spaces[@]}"; do ip netns del "$s" 2>/dev/null || true; done
  ip link del bregbr 2>/dev/null || true
}
trap cleanup EXIT

ip link add bregbr type bridge && ip link set bregbr up
n=1
for s in "${spaces[@]}"; do
  ip netns add "$s"
  ip link add "v-$s" type veth peer name eth0 netns "$s"
  ip link set "v-$s" master bregbr up
  ip -n "$s" addr add "10.77.0.$n/24" dev eth0
  ip -n "$s" link set eth0 up && ip -n "$s" link set lo up
  n=$((n + 1))
done

cat > "$work/s.toml" <<'TOML'
job    = "fit"
trials = 20
[settings]
data  = "r100:{seed}"
lr    = 1e-4
steps = 3_000_000
[grid]
p = [1.5, 2, 3]
TOML
url=nats://10.77.0.1:4222
cd "$work"
ip netns exec bq ./nats-server -js -sd "$work/js" -a 10.77.0.1 > nats.log 2>&1 & pids+=($!)
sleep 1
ip netns exec bq ./bregman sweep s.toml --nats $url --lost-after 10s > sweep.out 2> sweep.err & sweep=$!; pids+=($sweep)
for k in 1 2 3; do
  ip netns exec bw$k ./bregman worker --nats $url --scratch scratch$k > worker$k.log 2>&1 & pids+=($!)
done
count() { ls runs/sweep-s/trials 2>/dev/null | wc -l; }
until [ "$(count)" -ge 6 ]; do sleep 0.5; done
echo "$(count) of 60 runs: worker 2 is cut off for $cut s"
ip link set v-bw2 down
sleep "$cut"
echo "$(count) of 60 runs: worker 2 is back"
ip link set v-bw2 up
wait $sweep && echo "the sweep ends well: $(count) runs"
grep -h "gone\|again" worker2.log || true

echo "the same on one machine:"
./bregman sweep s.toml --out one > one.out 2> one.err
python3 - <<'PY'
import json, pathlib
def read(root):
    out = {}
    for p in pathlib.Path(root, "trials").iterdir():
        r = json.loads((p / "tables/result.json").read_text())
        out[p.name] = {k: v for k, v in r.items() if "seconds" not in k}, (p / "model.json").read_bytes()
    return out
a, b = read("runs/sweep-s"), read("one")
lines = [json.loads(l)["run"] for l in open("runs/sweep-s/metrics.jsonl")]
assert len(b) == 60 and a == b, "results differ"
assert sorted(lines) == sorted(b), "a run is missing from the metrics, or there twice"
print("60 runs, each once, all equal")
PY
rm -rf "$work"
