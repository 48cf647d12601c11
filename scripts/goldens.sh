#!/usr/bin/env bash
# The golden files of cmd/bregman/golden_test.go: a folder per command line, with what the program printed and left.
# They freeze JSON keys, file names, the identities of a sweep's runs, and numbers. Built-in data and tiny files only.
#   scripts/goldens.sh BINARY OUTDIR
# OUTDIR must not exist. In it:
#   data/            the files that the commands read
#   CASE/args        the command line, run in CASE
#   CASE/stdout      what it printed, of commands with one JSON object as answer
#   CASE/files.txt   the names of all files it left; bulky ones, such as pictures, are not kept
#   CASE/runs/       the run folder
#   CASE-stopped/    the same command, interrupted halfway
#   api/             answers of the dashboard over all run folders, each named CASE@FOLDER
# Dates in names of folders, the name of the machine and absolute paths are replaced. Needs curl and python3.
set -euo pipefail
export LC_ALL=C
unset NATS_URL BREGMAN_TOKEN

if [ $# -ne 2 ] || [ -e "$2" ]; then
    echo "usage: scripts/goldens.sh BINARY OUTDIR, where OUTDIR does not exist" >&2
    exit 2
fi
bregman=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || true' EXIT

# case_ NAME ARGS...: run a command to its end.
case_() {
    echo "$1" >&2
    mkdir "$out/$1"
    cd "$out/$1"
    shift
    printf '%s\n' "$*" >args
    "$bregman" "$@" >stdout 2>stderr || { cat stderr >&2; exit 1; }
    rm stderr
}

# stopped NAME CONDITION ARGS...: run a command and interrupt it once the condition holds.
stopped() {
    echo "$1" >&2
    mkdir "$out/$1"
    cd "$out/$1"
    local holds=$2
    shift 2
    printf '%s\n' "$*" >args
    set -m # else a command in the background ignores the interrupt
    "$bregman" "$@" >/dev/null 2>stderr &
    pid=$!
    set +m
    for _ in $(seq 3000); do
        if $holds; then
            break
        fi
        sleep 0.01
    done
    kill -INT "$pid"
    if wait "$pid"; then
        echo "$*: done before it was interrupted" >&2
        exit 1
    fi
    pid=
    rm stderr
}

# lines N FILE...: the files together have N lines or more.
lines() {
    local n=$1
    shift
    [ "$(cat "$@" 2>/dev/null | wc -l)" -ge "$n" ]
}
fit_is_half_done() { lines 116 runs/*/metrics.jsonl; }
train_is_half_done() { lines 2 runs/*/metrics.jsonl; }
sweep_is_half_done() { ls -d runs/*/trials/* >/dev/null 2>&1 && lines 5 runs/*/work/*/run/metrics.jsonl; }

# The data.
mkdir "$out/data"
cd "$out/data"
printf '1 1:2 2:1\n1 1:1 2:3\n1 1:2.5 2:0.25\n-1 1:-1 2:-2\n-1 1:-3 2:0.5\n-1 1:-0.5 2:-1.5\n' >two.svm
awk 'BEGIN {
    print "length,width,kind"
    for (i = 0; i < 30; i++) {
        k = i % 3
        print (k == 0) * 4 + (i * 7 % 10) / 10 "," (k == 1) * 5 + (i * 3 % 10) / 10 "," k
    }
}' >three.csv
python3 - <<'PY'
import struct, zipfile

def npy(shape, data):
    header = str({"descr": "|u1", "fortran_order": False, "shape": shape})
    header += " " * (63 - (len(header) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(data)

# Pictures of three classes that differ in brightness.
with zipfile.ZipFile("pictures.npz", "w", zipfile.ZIP_DEFLATED) as z:
    for part, n in (("train", 108), ("test", 12)):
        pixels = [40 + 85 * (k % 3) + (i * 7 + k * 13) % 40 for k in range(n) for i in range(144)]
        for name, a in (("X_" + part, npy((n, 12, 12), pixels)), ("y_" + part, npy((n,), [k % 3 for k in range(n)]))):
            z.writestr(zipfile.ZipInfo(name + ".npy"), a, zipfile.ZIP_DEFLATED)
PY
cat >fit.toml <<'TOML'
job    = "fit"
metric = "norm"
trials = 2
[settings]
data   = "r100:{seed}"
steps  = 2000
lr     = 1e-4
[grid]
p      = [1.5, 3]
TOML
cat >train.toml <<'TOML'
job    = "train"
metric = "test_accuracy"
trials = 2
[settings]
model  = "cnn"
data   = "../data/pictures.npz"
batch  = 50
epochs = 20
lr     = 0.2
no_study = true
[grid]
p      = [2, 3]
TOML
cat >margin.toml <<'TOML'
job    = "margin"
trials = 2
[settings]
data   = "r100:{seed}"
[grid]
p      = [1.1, 2, 10]
TOML
cat >path.toml <<'TOML'
job    = "path"
trials = 2
[settings]
data   = "r2:{seed}"
to     = 30
[grid]
p      = [2, 3]
TOML

# Linear models.
case_ fit fit --data r100:1 --json
case_ fit-p1.1 fit --data r100:1 --p 1.1 --json
case_ fit-p3 fit --data r100:1 --p 3 --json
case_ fit-cv fit --data ../data/three.csv --label kind --bias --p 1.1,3 --cv 3 --json
case_ fit-two fit --data ../data/two.svm --test ../data/two.svm --scale std --bias --json
case_ fit-lp fit --data ../data/two.svm --loss logistic --lp 1e-2 --json
case_ fit-square fit --data r100:1 --loss square --steps 1000 --json
case_ fit-three fit --data ../data/three.csv --label kind --bias --json
long="fit --data r100:1 --p 3 --method pgd --lr 1e-4 --steps 4e6 --json"
case_ fit-long $long
stopped fit-long-stopped fit_is_half_done $long
case_ path path --data r2 --p 1.5,3 --to 30 --json
case_ margin margin --data r100:1 --p 1.1,2,10 --support --json
case_ verify verify --p 1.5,3 --seeds 1 --json
case_ reproduce-linear reproduce linear --steps 1000 --seeds 2 --json
case_ data-info data info ../data/three.csv --json
case_ data-list data list --json
case_ doctor doctor --json

# Networks.
case_ train train --data fashion-sample --p 2,3 --epochs 1 --batch 500 --lr 0.5 --engine cpu --json
long="train --data fashion-sample --p 3 --epochs 4 --batch 500 --lr 0.5 --momentum 0.5 --no-study --engine cpu --json"
case_ train-long $long
stopped train-long-stopped train_is_half_done $long
case_ reproduce-cifar10 reproduce cifar10 --models cnn --data fashion-sample --p 2,3 --trials 2 --epochs 1 --batch 500 \
    --lr 0.5 --engine cpu --jobs 1 --json

# Sweeps.
case_ sweep-fit sweep ../data/fit.toml --jobs 1 --json
case_ sweep-margin sweep ../data/margin.toml --jobs 1 --json
case_ sweep-path sweep ../data/path.toml --jobs 1 --json
train="sweep ../data/train.toml --engine cpu --jobs 1 --json"
case_ sweep-train $train
stopped sweep-train-stopped sweep_is_half_done $train
for name in cifar10 bias margins ../data/fit.toml ../data/train.toml ../data/margin.toml ../data/path.toml; do
    case_ "plan-$(basename "$name" .toml)" sweep "$name" --dry-run --json
done

# What reads run folders.
case_ sweep-status sweep status ../sweep-fit/runs/sweep-fit --json
case_ sweep-status-stopped sweep status ../sweep-train-stopped/runs/sweep-train --json
case_ predict predict --model ../fit-three/runs/*/model.json --data ../data/three.csv --scores --json
cd "$out"
runs=$(for r in fit*/runs/* path/runs/* train*/runs/* sweep-*/runs/*; do echo "../$r"; done)
case_ report report $runs --json
case_ export-fit export ../fit-p3/runs/* --to csv --out -
case_ export-train export ../train-long/runs/* --to csv --out -
case_ export-sweep export ../sweep-fit/runs/sweep-fit --to csv --out -

# The names of all files, and away with the bulky ones.
cd "$out"
for c in */args; do
    c=${c%/args}
    rm -rf "$c"/runs/*/queue # of the NATS server
    (cd "$c" && find . -type f ! -name args ! -name stdout ! -name files.txt -printf '%P\n' |
        sed -E 's/[0-9]{8}-[0-9]{6}-/20260101-000000-/; s/(events.out.tfevents).*/\1/' | sort >files.txt)
done
bulky='.*\.(png|svg|html|tex|md|npz)|.*/(log\.txt|\.lock|events\.out\..*|[^/]*histograms\.csv)'
find . -regextype posix-extended -regex "$bulky" ! -path './data/*' -delete
find . -name weights.safetensors ! -path './train-long/*' -delete
for c in */runs; do
    case $c in *-stopped/*) ;; *) find "$c" -name checkpoints -exec rm -r {} + ;; esac
done
find . -name checkpoints | while read -r dir; do # the last one is enough
    find "$dir" -type f | sort | sed '$d' | xargs -r rm
done
find . -type d -empty -delete

# Dates, the machine and absolute paths.
find . -depth -name '[0-9]*-[0-9]*-*' | while read -r old; do
    new=$(dirname "$old")/$(basename "$old" | sed -E 's/^[0-9]{8}-[0-9]{6}-/20260101-000000-/')
    mv "$old" "$new"
done
grep -rIlZ . . | xargs -0 sed -Ei "s/[0-9]{8}-[0-9]{6}-/20260101-000000-/g; s|$out|OUT|g; s|$HOME|HOME|g
    s/(\"host\": ?)\"[^\"]*\"/\1\"host\"/; s/(\"pid\": ?)[0-9]+/\11/"

# What the dashboard says of them.
mkdir all api
for r in */runs/*; do
    cp -r "$r" "all/${r%%/*}@${r##*/}"
done
"$bregman" serve --runs all --allow-run --addr 127.0.0.1:0 >serve.txt 2>/dev/null &
pid=$!
until [ -s serve.txt ]; do sleep 0.05; done
address=$(cut -d' ' -f1 serve.txt)
# ask NAME PATH: keep an answer, and in index.txt what was asked for.
ask() {
    printf '%s\n' "$1 $2" >>api/index.txt
    curl -sSfg "$address$2" >"api/$1.json"
}
ask runs api/runs
ask forms api/forms
ask jobs api/jobs
cd all
ids=$(ls)
cd ..
for id in $ids; do
    ask "run-$id" "api/run?id=$id"
    ask "metrics-$id" "api/metrics?id=$id&points=8"
done
fits=$(echo "$ids" | grep '^fit-p.*@' | sed 's/^/run=/' | paste -sd '&')
trains=$(echo "$ids" | grep '^train@' | sed 's/^/run=/' | paste -sd '&')
ask compare-fits "api/compare?$fits&points=8"
ask compare-trains "api/compare?$trains&points=8"
ask weights-fit "api/weights?id=$(echo "$ids" | grep '^fit-p3@')"
ask weights-train "api/weights?id=$(echo "$ids" | grep '^train-long@')"
kill "$pid"
wait "$pid" || true
pid=
rm -r all serve.txt
