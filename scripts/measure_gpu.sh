#!/bin/bash
# Measurements on a GPU that take more than one command; see docs/measurements. Results go to a folder.
#
#   scripts/measure_gpu.sh OUT speed           beside torch.compile, in one run: ResNet-18 with max-autotune, and ResNet-50
#   scripts/measure_gpu.sh OUT tiny TINY.pack  Tiny-ImageNet with the ImageNet recipe, four p, and PyTorch beside
#   scripts/measure_gpu.sh OUT woof WOOF.pack  Imagewoof with the whole recipe, streamed, at 160, 192 and 256 pixels
#   scripts/measure_gpu.sh OUT memory TINY.pack a dry run, and a step that does not fit
#   scripts/measure_gpu.sh OUT steps           200 epochs of ResNet-18, each trained twice: are the weights the same bits?
#
# bregman must be on PATH; for speed and tiny python3 needs PyTorch with CUDA and torchvision, for steps CIFAR-10 must be
# there (bregman data get cifar10). Packed files: bregman data pack tiny-imagenet-200 --out TINY.pack, and
# bregman data pack imagewoof2-320 --out WOOF.pack --size 256 --quality 24.
set -u -o pipefail
[ $# -ge 2 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"; out=$(cd "$1" && pwd); section=$2; pack=${3:+$(realpath "$3")}
cd "$out" || exit 1

keep() { tee "$out/$1.txt"; }

case $section in
speed)
  bregman bench train --engine cuda --models resnet18:1024 --torch-limit 8m 2>&1 | keep speed-resnet18
  bregman bench train --engine cuda --models resnet50-imagenet:512 --torch compile 2>&1 | keep speed-resnet50
  ;;
tiny)
  sizes="--resolution 64 --test-resolution 64 --epochs 30 --results tiny.csv"
  bregman reproduce imagenet --data "$pack" --p 1.1,2,3,10 $sizes 2>&1 | keep tiny
  bregman reproduce imagenet --data "$pack" --models resnet18-imagenet --p 2,3 --trials 2 --seed 2 $sizes 2>&1 | keep tiny-seeds
  python3 "$here/compare_imagenet.py" "$pack" --seeds 1,2,3 --epochs 30 2>&1 | keep tiny-pytorch
  ;;
woof)
  bregman reproduce imagenet --data "$pack" --models resnet18-imagenet --p 2,3 --batch 256 --feed streamed --jobs 1 \
    --results woof.csv 2>&1 | keep woof
  ;;
memory)
  bregman train --dry-run --model resnet18-imagenet --data "$pack" 2>&1 | keep memory
  bregman train --model resnet18-imagenet --data "$pack" --resolution 192 --batch 20480 --epochs 1 --no-study 2>&1 | keep memory-full
  ;;
steps)
  bregman train --model resnet18 --data cifar10 --p 10 --unit init --batch 1024 --epochs 200 --check-steps --no-study \
    2>&1 | keep steps
  ;;
*) echo "no measurement is called $section: speed, tiny, woof, memory, steps" >&2; exit 2 ;;
esac
