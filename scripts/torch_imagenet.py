#!/usr/bin/env python3
"""Torchvision's ResNet-18, ResNet-50 and MobileNet-v2, to compare the networks "-imagenet" of package nets with.

  torch_imagenet.py fixture nets/testdata   names and shapes, and logits for weights by a formula: what CI checks
  torch_imagenet.py random DIR              random weights, pictures and logits, for go test ./nets -nets.torch DIR

Needs torch and torchvision, on a CPU. Files are safetensors, written by hand.
"""

import json
import pathlib
import struct
import sys
import zlib

import numpy as np
import torch
import torchvision

NETS = {
    "mobilenetv2-imagenet": lambda classes: torchvision.models.mobilenet_v2(num_classes=classes, dropout=0.0),
    "resnet18-imagenet": lambda classes: torchvision.models.resnet18(num_classes=classes),
    "resnet50-imagenet": lambda classes: torchvision.models.resnet50(num_classes=classes),
}
CLASSES = 11
SIZES = [(64, 64), (96, 80)]  # height and width
BATCH = 3


def uniform(name, count):
    """Numbers in [0, 1) of 24 bits by a hash of the name and the place. The Go test has the same formula."""
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint32) + np.uint32(zlib.crc32(name.encode()))
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x7FEB352D)
        x ^= x >> np.uint32(15)
        x *= np.uint32(0x846CA68B)
        x ^= x >> np.uint32(16)
    return (x >> np.uint32(8)).astype(np.float64) / (1 << 24)


def formula(name, shape, trivial):
    """A tensor of the network; trivial statistics are a mean of 0 and a variance of 1."""
    u = uniform(name, int(np.prod(shape)))
    if len(shape) > 1:  # keeps the size of activations
        v = (2 * u - 1) * np.sqrt(6 / np.prod(shape[1:]))
    elif name.endswith("running_var"):
        v = np.ones_like(u) if trivial else 0.5 + u
    elif name.endswith("running_mean"):
        v = np.zeros_like(u) if trivial else 0.4 * u - 0.2
    elif name.endswith("weight"):
        v = 0.5 + 0.5 * u
    else:
        v = 0.4 * u - 0.2
    return torch.from_numpy(v.astype(np.float32).reshape(shape))


def pictures(height, width):
    u = uniform(f"pictures {height}x{width}", BATCH * height * width * 3)
    return torch.from_numpy((4 * u - 2).astype(np.float32).reshape(BATCH, height, width, 3))


def logits(net, x, training):
    net.train(training)
    with torch.no_grad():
        return net(x.permute(0, 3, 1, 2).contiguous())


def named(net):
    return {k: v for k, v in net.state_dict().items() if not k.endswith("num_batches_tracked")}


def fixture(folder):
    out = {"torch": torch.__version__, "torchvision": torchvision.__version__, "cases": []}
    for name, new in NETS.items():
        lines = [f"{k} {'x'.join(map(str, v.shape))}" for k, v in named(new(1000)).items()]
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        for height, width in SIZES:
            for mode in ["trivial", "running", "training"]:
                net = new(CLASSES)
                with torch.no_grad():
                    for k, v in named(net).items():
                        v.copy_(formula(k, v.shape, mode == "trivial"))
                # In float64: rounding in float32, much of it in small batches' statistics, is not what is compared.
                y = logits(net.double(), pictures(height, width).double(), mode == "training")
                out["cases"].append({"net": name, "height": height, "width": width, "mode": mode,
                                     "logits": [float(f"{v:.12g}") for v in y.flatten().tolist()]})
    text = json.dumps(out).replace('{"net"', '\n{"net"').replace("]}]}", "]}\n]}")
    (folder / "torchvision.json").write_text(text + "\n")


def save(path, tensors):
    header, data, at = {}, b"", 0
    for k, v in tensors.items():
        raw = v.detach().contiguous().numpy().tobytes()
        dtype = {torch.float32: "F32", torch.int64: "I64"}[v.dtype]
        header[k] = {"dtype": dtype, "shape": list(v.shape), "data_offsets": [at, at + len(raw)]}
        data, at = data + raw, at + len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def random(folder):
    torch.manual_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    for name, new in NETS.items():
        net = new(1000)
        for statistics in ["trivial", "moved"]:
            if statistics == "moved":  # by training passes over other pictures
                for _ in range(3):
                    logits(net, 2 * torch.randn(8, 64, 64, 3) + 0.5, True)
            save(folder / f"{name}-{statistics}.safetensors", net.state_dict())
            for height, width in SIZES:
                x = torch.randn(BATCH, height, width, 3)
                save(folder / f"{name}-{statistics}-{height}x{width}.safetensors",
                     {"pictures": x, "logits": logits(net, x, False)})


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("fixture", "random"):
        sys.exit(__doc__)
    torch.set_num_threads(2)
    {"fixture": fixture, "random": random}[sys.argv[1]](pathlib.Path(sys.argv[2]))
