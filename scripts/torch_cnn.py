"""What `bregman train` does with no arguments, in PyTorch: the small network on the built-in images, p = 2 and p = 3 (the paper's snippet),
the same recipe, several seeds. A yardstick for the accuracy, not part of the product.

    python3 scripts/torch_cnn.py --seeds 5
"""
import argparse
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "internal", "app", "bench"))
from torch_bench import PaperPGD, conv_bn

TRAIN, TEST, SIDE = 380, 110, 28


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.linear = conv_bn(1, 16, 3, 1), conv_bn(16, 32, 3, 2), conv_bn(32, 64, 3, 2), nn.Linear(64, 10)

    def forward(self, x):
        return self.linear(F.relu(self.c(F.relu(self.b(F.relu(self.a(x)))))).mean((2, 3)))


def load():
    """The columns of sample.png are classes; the training images are above the test images."""
    a = np.array(Image.open("images/sample.png")).reshape(TRAIN + TEST, SIDE, 10, SIDE).transpose(0, 2, 1, 3)
    y = np.tile(np.arange(10), (TRAIN + TEST, 1))
    flat = lambda v: v.reshape(-1, *v.shape[2:])
    return flat(a[:TRAIN]), flat(y[:TRAIN]), flat(a[TRAIN:]), flat(y[TRAIN:])


def train(seed, p, a, x, y, xt, yt):
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    mean, deviation = x.mean(), x.std()
    padded = np.full((len(x), SIDE + 4, SIDE + 4), round(float(mean)), np.uint8)
    padded[:, 2:-2, 2:-2] = x
    net = CNN()
    opt = torch.optim.SGD(net.parameters(), a.lr) if p == 2 else PaperPGD(net.parameters(), a.lr, p)
    per = len(x) // a.batch
    steps, step = a.epochs * per, 0
    peak = int(steps * 5 / 24)
    for _ in range(a.epochs):
        order = rng.permutation(len(x))
        for k in range(per):
            lr = a.lr * (step / peak if step < peak else (steps - step) / (steps - peak))
            for g in opt.param_groups:
                g["lr"] = lr
            rows = order[k * a.batch : (k + 1) * a.batch]
            batch = np.empty((a.batch, 1, SIDE, SIDE), np.float32)
            for i, r in enumerate(rows):
                u, v = rng.integers(0, 5, 2)
                img = (padded[r, u : u + SIDE, v : v + SIDE].astype(np.float32) - mean) / deviation
                if rng.integers(0, 2):
                    img = img[:, ::-1].copy()
                c, d = rng.integers(0, SIDE - 3, 2)
                img[c : c + 4, d : d + 4] = 0
                batch[i, 0] = img
            opt.zero_grad(set_to_none=True)
            F.cross_entropy(net(torch.from_numpy(batch)), torch.from_numpy(y[rows])).backward()
            opt.step()
            step += 1
    net.eval()
    with torch.no_grad():
        z = net(torch.from_numpy(((xt.astype(np.float32) - mean) / deviation)[:, None]))
    return (z.argmax(1).numpy() == yt).mean() * 100


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--seeds", type=int, default=5)
    a.add_argument("--epochs", type=int, default=15)
    a.add_argument("--batch", type=int, default=50)
    a.add_argument("--lr", type=float, default=0.8)
    a.add_argument("--threads", type=int, default=2)
    a = a.parse_args()
    torch.set_num_threads(a.threads)
    data = load()
    for p in (2, 3):
        t, acc = time.time(), []
        for seed in range(1, a.seeds + 1):
            acc.append(train(seed, p, a, *data))
        print(f"p = {p}: test {np.mean(acc):.2f} ± {np.std(acc, ddof=1):.2f} %, seeds {[round(v, 2) for v in acc]}, {(time.time() - t) / a.seeds:.1f} s a run", flush=True)


if __name__ == "__main__":
    main()
