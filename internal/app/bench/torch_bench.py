"""The networks of package nets in PyTorch, timed as a user would run them: eager or, on a GPU, compiled; CIFAR-10-sized random
images; on a GPU channels last, bf16 autocast and cudnn.benchmark, on a CPU float32 in the layout that is quicker.
A yardstick for `bregman train`. `bregman bench train` has this file inside and runs it; it also runs by itself:

    cd internal/app/bench
    python3 torch_bench.py --batch 1024 --steps 60
    python3 torch_bench.py --batch 1024 --steps 60 --compile max-autotune
    python3 torch_bench.py --device cpu --threads 2 --batch 32 --nets resnet18,mobilenetv2,cnn

Each line of a CPU run is a JSON object.
"""
import argparse
import json
import os
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv_bn(i, o, k, s=1, g=1, bias=False):
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=bias), nn.BatchNorm2d(o))


class VGG11(nn.Module):
    def __init__(self):
        super().__init__()
        layers, i = [], 3
        for v in [64, "M", 128, "M", 256, 256, "M", 512, 512, "M", 512, 512, "M"]:
            if v == "M":
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [conv_bn(i, v, 3, bias=True), nn.ReLU(inplace=True)]
                i = v
        self.features, self.linear = nn.Sequential(*layers), nn.Linear(512, 10)

    def forward(self, x):
        return self.linear(self.features(x).flatten(1))


class Basic(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.a, self.b = conv_bn(i, o, 3, s), conv_bn(o, o, 3)
        self.short = conv_bn(i, o, 1, s) if s != 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x))) + self.short(x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, blocks, i = conv_bn(3, 64, 3), [], 64
        for o, s in [(64, 1), (128, 2), (256, 2), (512, 2)]:
            blocks += [Basic(i, o, s), Basic(o, o, 1)]
            i = o
        self.blocks, self.linear = nn.Sequential(*blocks), nn.Linear(512, 10)

    def forward(self, x):
        return self.linear(self.blocks(F.relu(self.stem(x))).mean((2, 3)))


class Inverted(nn.Module):
    def __init__(self, i, o, e, s):
        super().__init__()
        m, self.s = e * i, s
        self.a, self.b, self.c = conv_bn(i, m, 1), conv_bn(m, m, 3, s, m), conv_bn(m, o, 1)
        self.short = conv_bn(i, o, 1) if s == 1 and i != o else nn.Identity()

    def forward(self, x):
        y = self.c(F.relu(self.b(F.relu(self.a(x)))))
        return y + self.short(x) if self.s == 1 else y


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, blocks, i = conv_bn(3, 32, 3), [], 32
        for e, o, n, s in [(1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
            for k in range(n):
                blocks.append(Inverted(i, o, e, s if k == 0 else 1))
                i = o
        self.blocks, self.last, self.linear = nn.Sequential(*blocks), conv_bn(320, 1280, 1), nn.Linear(1280, 10)

    def forward(self, x):
        return self.linear(F.relu(self.last(self.blocks(F.relu(self.stem(x))))).mean((2, 3)))


class Bottleneck(nn.Module):
    def __init__(self, i, o, s):
        super().__init__()
        self.a, self.b, self.c = conv_bn(i, o, 1), conv_bn(o, o, 3, s, o // 8), conv_bn(o, o, 1)
        self.short = conv_bn(i, o, 1, s) if s != 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.c(F.relu(self.b(F.relu(self.a(x))))) + self.short(x))


class RegNetX200(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, blocks, i = conv_bn(3, 64, 3), [], 64
        for d, o, s in [(1, 24, 1), (1, 56, 1), (4, 152, 2), (7, 368, 2)]:
            for k in range(d):
                blocks.append(Bottleneck(i, o, s if k == 0 else 1))
                i = o
        self.blocks, self.linear = nn.Sequential(*blocks), nn.Linear(368, 10)

    def forward(self, x):
        return self.linear(self.blocks(F.relu(self.stem(x))).mean((2, 3)))


class PaperPGD(torch.optim.Optimizer):
    """The update of the paper's appendix."""

    def __init__(self, params, lr, p):
        super().__init__(params, dict(lr=lr, p=p))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            p, lr = group["p"], group["lr"]
            for w in group["params"]:
                u = torch.pow(torch.abs(w), p - 1) * torch.sign(w) - lr * w.grad
                w.copy_(torch.sign(u) * torch.pow(torch.abs(u), 1 / (p - 1)))


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.linear = conv_bn(3, 16, 3), conv_bn(16, 32, 3, 2), conv_bn(32, 64, 3, 2), nn.Linear(64, 10)

    def forward(self, x):
        return self.linear(F.relu(self.c(F.relu(self.b(F.relu(self.a(x)))))).mean((2, 3)))


NETS = {"cnn": CNN, "vgg11": VGG11, "resnet18": ResNet18, "mobilenetv2": MobileNetV2, "regnetx200": RegNetX200}


def build(name):
    """A network, and how many classes it has. Those in ImageNet's form are torchvision's."""
    if name in NETS:
        return NETS[name](), 10
    import torchvision

    known = {"resnet18-imagenet": "resnet18", "resnet50-imagenet": "resnet50", "mobilenetv2-imagenet": "mobilenet_v2"}
    return getattr(torchvision.models, known[name])(), 1000


class Training:
    """A network, its optimizer and one batch of random pictures that stays on the device; on a GPU in bf16 autocast.

    The variant eager is SGD, compile the same with its loss and gradient by torch.compile, paper the snippet, eager.
    SGD is the fused one if there is one. The learning rate is so small that the weights stay: all steps do the same.
    """

    def __init__(self, name, variant, batch, p, device, mode, side=32):
        gpu = device == "cuda"
        net, classes = build(name)
        net = net.to(device=device, memory_format=torch.channels_last)
        self.parameters = list(net.parameters())
        self.batch, self.device = batch, device
        self.opt = PaperPGD(self.parameters, RATE, p) if variant == "paper" else sgd(self.parameters, gpu)
        x = torch.randn(batch, 3, side, side, device=device).to(memory_format=torch.channels_last)
        y = torch.randint(0, classes, (batch,), device=device)

        def loss():
            if not gpu:
                return F.cross_entropy(net(x), y)
            with torch.autocast("cuda", torch.bfloat16):
                return F.cross_entropy(net(x), y)

        # Automatic dynamic shapes would make a second batch size slower.
        self.loss = torch.compile(loss, mode=mode, dynamic=False) if variant == "compile" else loss

    def run(self, steps):
        """The seconds that so many steps take."""
        self.wait()
        begin = time.perf_counter()
        for _ in range(steps):
            self.opt.zero_grad(set_to_none=True)
            self.loss().backward()
            self.opt.step()
        self.wait()
        return time.perf_counter() - begin

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def warm(self):
        """Compiles, chooses kernels and fills caches."""
        self.run(15 if self.device == "cuda" else 1)
        few = 5 if self.device == "cuda" else 1
        self.step = self.run(few) / few

    def round(self, seconds):
        """Steps for about this long, and the seconds they took."""
        steps = max(1, round(seconds / self.step))
        took = self.run(steps)
        self.step = took / steps
        return steps, took


RATE = 1e-30


def sgd(parameters, gpu):
    if gpu:
        try:
            return torch.optim.SGD(parameters, RATE, fused=True)
        except (TypeError, RuntimeError):  # an older PyTorch, which takes all tensors in few kernels, too
            pass
    return torch.optim.SGD(parameters, RATE)


def settle(device):
    """What every measurement on a GPU has."""
    if device == "cuda":
        torch.backends.cudnn.benchmark = True
        torch.set_float32_matmul_precision("high")  # TF32; cuDNN's is on by default


def serve(a):
    """Answers requests, a JSON object a line, for `bregman bench train`. The first line says what PyTorch this is.

        {"do": "prepare", "variant": "eager", "net": "resnet18", "batch": 1024, "p": 3}  ->  {"seconds": 2.1}
        {"do": "round", "variant": "eager", "seconds": 1}  ->  {"images": 66560, "seconds": 0.99}

    The answer to what failed is {"error": "…"}: another variant may still work.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer

    def answer(**fields):
        out.write(json.dumps(fields) + "\n")
        out.flush()

    if a.device == "cuda" and not torch.cuda.is_available():
        return answer(error=f"PyTorch {torch.__version__} finds no CUDA GPU")
    settle(a.device)
    device = torch.cuda.get_device_name() if a.device == "cuda" else "CPU"
    answer(torch=torch.__version__, cuda=torch.version.cuda or "", device=device)
    ready = {}
    for line in sys.stdin:
        r = json.loads(line)
        try:
            if r["do"] == "prepare":
                begin = time.perf_counter()
                mode = r.get("mode", "max-autotune")
                t = Training(r["net"], r["variant"], r["batch"], r["p"], a.device, mode, r.get("side", 32))
                t.warm()
                ready[r["variant"]] = t
                answer(seconds=time.perf_counter() - begin)
            else:
                t = ready[r["variant"]]
                steps, took = t.round(r["seconds"])
                answer(images=steps * t.batch, seconds=took)
        except Exception as e:
            lines = [s.strip() for s in str(e).splitlines() if s.strip()] or ["no reason given"]
            answer(error=f"{type(e).__name__}: {lines[0]}")


def on_gpu(a):
    settle("cuda")
    print("torch", torch.__version__, torch.cuda.get_device_name())
    for name in a.nets.split(","):
        for variant in ("compile",) if a.compile else ("eager", "paper"):
            t = Training(name, variant, a.batch, 3, "cuda", a.compile)
            count = sum(p.numel() for p in t.parameters)
            t.warm()
            best = min(t.run(a.steps // 4) for _ in range(4)) / (a.steps // 4)
            what = "paper p=3" if variant == "paper" else "sgd"
            print(f"{name:12s} {count:10,d} parameters  {a.compile or 'eager'} {what:10s} batch {a.batch}: {1e3 * best:6.2f} ms a step, {a.batch / best:8.0f} img/s", flush=True)
            del t


def on_cpu(a):
    torch.set_num_threads(a.threads)
    for name in a.nets.split(","):
        for what in a.optimizers.split(","):
            best = None
            for layout in (torch.contiguous_format, torch.channels_last):
                net = NETS[name]().to(memory_format=layout)
                opt = torch.optim.SGD(net.parameters(), 0.01) if what == "sgd" else PaperPGD(net.parameters(), 0.01, 3)
                x = torch.randn(a.batch, 3, 32, 32).to(memory_format=layout)
                y = torch.randint(0, 10, (a.batch,))

                def step():
                    opt.zero_grad(set_to_none=True)
                    F.cross_entropy(net(x), y).backward()
                    opt.step()

                step()
                for _ in range(3):
                    n, t, c = 0, time.time(), time.process_time()
                    while n == 0 or time.time() - t < a.seconds / 6:
                        step()
                        n += 1
                    wall, cpu = (time.time() - t) / n / a.batch, (time.process_time() - c) / n / a.batch
                    if best is None or wall < best["seconds"]:
                        best = dict(net=name, optimizer=what, batch=a.batch, threads=a.threads, seconds=wall, cpu_seconds=cpu,
                                    layout="NCHW" if layout == torch.contiguous_format else "NHWC")
            best["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            best["torch"] = torch.__version__
            print(json.dumps(best), flush=True)


def matmul(n):
    import numpy

    a, b = numpy.random.rand(n, n).astype("f"), numpy.random.rand(n, n).astype("f")
    best, begin = 1e9, time.time()
    while time.time() - begin < 2:
        t = time.time()
        a @ b
        best = min(best, time.time() - t)
    print(json.dumps(dict(n=n, gflops=2 * n**3 / best / 1e9)))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    a.add_argument("--compile", metavar="MODE", help="torch.compile with this mode, such as max-autotune; SGD only")
    a.add_argument("--batch", type=int, default=1024)
    a.add_argument("--steps", type=int, default=60)
    a.add_argument("--nets", default="resnet18,vgg11,regnetx200,mobilenetv2")
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--seconds", type=float, default=12, help="time for one network on a CPU")
    a.add_argument("--optimizers", default="sgd,paper")
    a.add_argument("--matmul", type=int, help="only time numpy's product of two matrices of this size")
    a.add_argument("--serve", action="store_true", help="answer requests on standard input")
    a = a.parse_args()
    if a.serve:
        return serve(a)
    if a.matmul:
        return matmul(a.matmul)
    (on_gpu if a.device == "cuda" else on_cpu)(a)


if __name__ == "__main__":
    main()
