#!/usr/bin/env python3
"""ResNet-18 in PyTorch on a packed file, with the recipe of `bregman reproduce imagenet`: what to compare ours with.

    python3 scripts/compare_imagenet.py tiny.pack --seeds 1,2,3
    bregman reproduce imagenet --data tiny.pack --models resnet18-imagenet --p 2 --trials 3 --epochs 30 \\
        --resolution 64 --test-resolution 64

Torchvision's network with a blur before each convolution that has a stride (not the first), SGD without momentum and
decay, a triangular rate, random crops of 8 to 100 % of the area, flips; tests see the central 224/256 of a picture, and
once more with the sum of the logits of picture and mirror image. On a GPU: bf16 autocast, channels last, torch.compile.
The pictures stay on the device, so that all of them must have one size. Prints a line of JSON for each seed.
"""

import argparse
import json
import math
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision


def packed(path, device):
    """Pictures and labels for training and tests, [n, 3, h, w] of bytes; the format is in docs/packed.md."""
    with open(path, "rb") as f:
        data = f.read()
    if data[:8] != b"BREGPACK":
        raise SystemExit(f"{path} is not a packed file")
    training, tests = struct.unpack_from("<II", data, 16)
    begin, length = struct.unpack_from("<QQ", data, 24)
    kind = np.dtype([("offset", "<u8"), ("length", "<u4"), ("sum", "<u4"), ("height", "<u2"), ("width", "<u2"),
                     ("label", "<u2"), ("kind", "u1"), ("unused", "u1")])
    index = np.frombuffer(data[begin:begin + length], kind)
    assert len(index) == training + tests, (len(index), training, tests)
    if len(np.unique(index[["height", "width"]])) > 1 or index["kind"].min() != 1:
        raise SystemExit(f"{path}: this script wants JPEG pictures of one size")

    def decode(row):
        raw = np.frombuffer(data, np.uint8, row["length"], row["offset"]).copy()
        return torchvision.io.decode_jpeg(torch.from_numpy(raw), mode=torchvision.io.ImageReadMode.RGB)

    with ThreadPoolExecutor(16) as pool:
        pictures = torch.stack(list(pool.map(decode, index, chunksize=256))).to(device)
    labels = torch.from_numpy(index["label"].astype(np.int64)).to(device)
    return (pictures[:training], labels[:training]), (pictures[training:], labels[training:])


class Blurred(nn.Module):
    """A convolution with a stride, and a fixed blur before it."""

    def __init__(self, conv):
        super().__init__()
        self.conv = conv
        blur = torch.tensor([1.0, 2.0, 1.0])
        blur = torch.outer(blur, blur) / 16
        self.register_buffer("blur", blur.expand(conv.in_channels, 1, 3, 3).clone())

    def forward(self, x):
        return self.conv(F.conv2d(x, self.blur, padding=1, groups=x.shape[1]))


def with_blur(module):
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d) and max(child.stride) > 1 and child.in_channels >= 16:
            setattr(module, name, Blurred(child))
        else:
            with_blur(child)
    return module


def cut(x, side, top, left, height, width, flip, mean, deviation):
    """Boxes of pictures, in shares of their side, resized to side × side and normalised."""
    b = len(x)
    theta = torch.zeros(b, 2, 3, device=x.device)
    theta[:, 0, 0] = torch.where(flip, -width, width)
    theta[:, 1, 1] = height
    theta[:, 0, 2] = 2 * left + width - 1
    theta[:, 1, 2] = 2 * top + height - 1
    grid = F.affine_grid(theta, (b, 3, side, side), align_corners=False)
    x = F.grid_sample(x.float(), grid, mode="bilinear", padding_mode="border", align_corners=False)
    return ((x - mean) / deviation).contiguous(memory_format=torch.channels_last)


def random_boxes(b, side, generator, device):
    """Ten tries for each picture, as in torchvision's and FFCV's crops, in whole pixels."""
    shape = (b, 10)
    area = torch.empty(shape, device=device).uniform_(0.08, 1, generator=generator)
    ratio = torch.empty(shape, device=device).uniform_(math.log(3 / 4), math.log(4 / 3), generator=generator).exp()
    w = (area * ratio).sqrt().mul(side).round().clamp(min=1)
    h = (area / ratio).sqrt().mul(side).round().clamp(min=1)
    fits = (w <= side) & (h <= side)
    first = fits.float().argmax(1, keepdim=True)
    whole = ~fits.any(1)
    w = torch.where(whole, side, w.gather(1, first)[:, 0])
    h = torch.where(whole, side, h.gather(1, first)[:, 0])
    u = torch.rand(2, b, generator=generator, device=device)
    top, left = (u[0] * (side - h + 1)).floor(), (u[1] * (side - w + 1)).floor()
    return [v / side for v in (top, left, h, w)]


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("file")
    a.add_argument("--seeds", default="1,2,3")
    a.add_argument("--epochs", type=int, default=30)
    a.add_argument("--batch", type=int, default=1024)
    a.add_argument("--lr", type=float, default=0.5)
    a.add_argument("--resolution", type=int, default=64)
    a.add_argument("--examples", type=int, help="only so many training pictures, to try the script")
    a = a.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    (x, y), (tx, ty) = packed(a.file, device)
    if a.examples:
        x, y, tx, ty = x[::len(x) // a.examples], y[::len(y) // a.examples], tx[:1000], ty[:1000]
    mean = x[:20000].float().mean((0, 2, 3)).view(3, 1, 1)
    deviation = x[:20000].float().std((0, 2, 3)).view(3, 1, 1)
    classes, stored = int(y.max()) + 1, x.shape[-1]
    steps = len(x) // a.batch  # of an epoch: the last part of a batch is dropped
    total, top = steps * a.epochs, 2 * steps

    for seed in map(int, a.seeds.split(",")):
        torch.manual_seed(seed)
        generator = torch.Generator(device).manual_seed(seed)
        net = with_blur(torchvision.models.resnet18(num_classes=classes))
        net = net.to(device=device, memory_format=torch.channels_last)
        opt = torch.optim.SGD(net.parameters(), lr=a.lr, **({"fused": True} if device == "cuda" else {}))

        def loss(pictures, labels):
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                return F.cross_entropy(net(pictures), labels)

        run = torch.compile(loss, dynamic=False) if device == "cuda" else loss
        begin, seconds, t = time.perf_counter(), [], 0
        for epoch in range(a.epochs):
            net.train()
            order = torch.randperm(len(x), generator=generator, device=device)
            sum_of_losses = torch.zeros((), device=device)
            for k in range(steps):
                pick = order[k * a.batch:(k + 1) * a.batch]
                flip = torch.rand(a.batch, generator=generator, device=device) < 0.5
                pictures = cut(x[pick], a.resolution, *random_boxes(a.batch, stored, generator, device), flip, mean,
                               deviation)
                for group in opt.param_groups:
                    group["lr"] = a.lr * (t / top if t < top else (total - t) / (total - top))
                t += 1
                opt.zero_grad(set_to_none=True)
                value = run(pictures, y[pick])
                value.backward()
                opt.step()
                sum_of_losses += value.detach()
            if device == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter())
        net.eval()
        right, mirrored = 0, 0
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            for k in range(0, len(tx), 1000):
                part, labels = tx[k:k + 1000], ty[k:k + 1000]
                side = torch.full((len(part),), int(224 / 256 * stored) / stored, device=device)
                begins = torch.full((len(part),), (stored - int(224 / 256 * stored)) // 2 / stored, device=device)
                logits = []
                for flip in (False, True):
                    turned = torch.full((len(part),), flip, device=device)
                    logits.append(net(cut(part, a.resolution, begins, begins, side, side, turned, mean, deviation)).float())
                right += (logits[0].argmax(1) == labels).sum().item()
                mirrored += ((logits[0] + logits[1]).argmax(1) == labels).sum().item()
        epochs = np.diff([begin] + seconds)
        print(json.dumps(dict(seed=seed, test=right / len(tx), test_flips=mirrored / len(tx),
                              loss=(sum_of_losses / steps).item(), seconds=seconds[-1] - begin,
                              images_per_second=steps * a.batch / float(np.median(epochs)), epochs=a.epochs,
                              torch=torch.__version__)), flush=True)


if __name__ == "__main__":
    main()
