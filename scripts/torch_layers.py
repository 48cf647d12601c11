"""The networks of examples/transformer and examples/pooling in PyTorch, to compare the time of a step.

    python3 scripts/torch_layers.py [STEPS [THREADS]]

Steps of SGD with momentum on random inputs of the same shapes: wall time and CPU time a step.
"""
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH, HEADS, DEPTH, WINDOW, BATCH, ALPHABET = 128, 4, 2, 64, 32, 26


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH, eps=1e-3), nn.LayerNorm(WIDTH, eps=1e-3)
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("mask", torch.triu(torch.full((WINDOW, WINDOW), float("-inf")), 1))

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (f(y).view(BATCH, WINDOW, HEADS, WIDTH // HEADS).transpose(1, 2) for f in (self.q, self.k, self.v))
        a = torch.softmax(q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + self.mask, -1)
        x = x + self.out((a @ v).transpose(1, 2).reshape(BATCH, WINDOW, WIDTH))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.characters = nn.Embedding(ALPHABET, WIDTH)
        self.places = nn.Parameter(torch.randn(1, WINDOW, WIDTH) * 0.02)
        self.layers = nn.Sequential(*[Layer() for _ in range(DEPTH)])
        self.norm, self.out = nn.LayerNorm(WIDTH, eps=1e-3), nn.Linear(WIDTH, ALPHABET)

    def forward(self, x):
        return self.out(self.norm(self.layers(self.characters(x) + self.places))).view(-1, ALPHABET)

    def batch(self):
        return torch.randint(0, ALPHABET, (BATCH, WINDOW)), torch.randint(0, ALPHABET, (BATCH * WINDOW,))


class Pooling(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.AvgPool2d(7), nn.Flatten(), nn.Linear(64, 6))

    def batch(self):
        return torch.randn(64, 1, 28, 28), torch.randint(0, 6, (64,))


def cpu():
    r = resource.getrusage(resource.RUSAGE_SELF)
    return r.ru_utime + r.ru_stime


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    torch.set_num_threads(int(sys.argv[2]) if len(sys.argv) > 2 else 2)
    torch.manual_seed(0)
    for name, net in (("transformer", Transformer()), ("pooling", Pooling())):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
        for i in range(steps + 3):
            if i == 3:
                wall, used = time.time(), cpu()
            x, y = net.batch()
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(net(x), y).backward()
            optimizer.step()
        print(f"PyTorch {torch.__version__}, {name}: {1e3 * (time.time() - wall) / steps:.1f} ms a step, "
              f"{1e3 * (cpu() - used) / steps:.1f} ms of CPU")


main()
