# SPDX-License-Identifier: Apache-2.0
"""
PyTorch with the nccl backend at world size 1. Prints what it computed, and figures of it (gpu_app.h):  torch_gpu.py PART

    collectives  each of them, in several types of numbers
    operators    a few operators of several types, on the device
    train        a DDP training with autocast, a gradient scaler and Adam
    nan          the same, and in step 7 a NaN comes out of a log
    fsdp         fully_shard
    compile      torch.compile, with CUDA graphs
    graph        an all_reduce inside of a CUDA graph
    profiler     the training under torch.profiler
    gloo         two processes on one GPU: a DDP training by gloo
    step         DDP of a transformer whose step takes 100 ms and more (STEP_LAYERS, STEP_WIDTH, STEP_STEPS): what a step takes
    eager        what PyTorch's own min, max, norm and isnan take of 256 MiB
"""
import hashlib
import os
import sys
import time

import torch
import torch.distributed as dist

part = sys.argv[1]
torch.manual_seed(1)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.cuda.set_device(0)
if part == "gloo":
    dist.init_process_group("gloo")
elif part not in ("operators", "eager"):
    dist.init_process_group("nccl", device_id=torch.device("cuda", 0))


def figure(op, io, t):
    torch.cuda.synchronize()
    t = t.detach().cpu().double()
    print("figure", op, io, "%.17g" % t.min().item(), "%.17g" % t.max().item())


def collectives():
    x = torch.arange(4096, device="cuda") % 1001
    for i in range(5):
        for dtype in torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8:
            a = (x + i).to(dtype) / 8 if dtype.is_floating_point else (x + i).to(dtype)
            figure("all_reduce", "in", a)
            dist.all_reduce(a)
            figure("all_reduce", "out", a)
            b = torch.zeros_like(a)
            figure("all_gather", "in", a)
            dist.all_gather_into_tensor(b, a)
            figure("all_gather", "out", b)
            b = torch.zeros_like(a)
            figure("reduce_scatter", "in", a)
            dist.reduce_scatter_tensor(b, a)
            figure("reduce_scatter", "out", b)
            b = torch.zeros_like(a)
            figure("all_to_all", "in", a)
            dist.all_to_all_single(b, a)
            figure("all_to_all", "out", b)
            figure("broadcast", "in", a)
            dist.broadcast(a, 0)
            figure("broadcast", "out", a)
    torch.cuda.synchronize()


def operators():
    for i in range(5):
        for dtype in torch.float32, torch.float16, torch.bfloat16, torch.float64:
            a = (torch.arange(64 * 48, device="cuda").reshape(64, 48) % 17 - 8 + i).to(dtype) / 8
            b = (torch.arange(48 * 32, device="cuda").reshape(48, 32) % 13 - 6).to(dtype) / 8
            figure("mm", "in", a)
            figure("mm", "in", b)
            c = torch.mm(a, b)
            figure("mm", "out", c)
            figure("tanh", "in", c)
            d = torch.tanh(c)
            figure("tanh", "out", d)
            # A view whose elements lie apart.
            figure("exp", "in", d.T)
            e = torch.exp(d.T)
            figure("exp", "out", e)
            # On a stream of its own.
            s = torch.cuda.Stream()
            s.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(s):
                figure("cos", "in", a)
                f = torch.cos(a)
                figure("cos", "out", f)
            torch.cuda.current_stream().wait_stream(s)
        print("sum", e.double().sum().item(), f.double().sum().item())


class Net(torch.nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.first = torch.nn.Linear(64, width)
        self.norm = torch.nn.LayerNorm(width)
        self.second = torch.nn.Linear(width, width)
        self.last = torch.nn.Linear(width, 8)

    def forward(self, x, spoil=False):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.nn.functional.gelu(self.second(x))
        if spoil:
            x = x + torch.log(x.float() - 1e6)
        return self.last(x)


def end(model, losses):
    torch.cuda.synchronize()
    digest = hashlib.sha256()
    for p in model.parameters():
        if hasattr(p, "to_local"):
            p = p.to_local()
        digest.update(p.detach().cpu().numpy().tobytes())
    print("losses", *losses)
    print("parameters", digest.hexdigest())


def train(model, steps=20, spoil=-1, autocast=True):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
    scaler = torch.amp.GradScaler("cuda", enabled=autocast)
    g = torch.Generator().manual_seed(5)
    losses = []
    begin = 0
    for i in range(steps):
        x = torch.randn(256, 64, generator=g).cuda(non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
            loss = (model(x, True) if i == spoil else model(x)).float().square().mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
        if i == steps // 2:
            torch.cuda.synchronize()
            begin = time.monotonic()
    torch.cuda.synchronize()
    print("%.3f ms a step" % ((time.monotonic() - begin) / (steps - steps // 2 - 1) * 1e3), file=sys.stderr)
    end(model, [v.item() for v in losses])
    print("peak", torch.cuda.max_memory_allocated(), file=sys.stderr)


def graph():
    x = torch.ones(10000, device="cuda")
    y = x.clone()
    s = torch.cuda.Stream()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        for i in range(3):
            y.copy_(x * 2)
            dist.all_reduce(y)
    torch.cuda.current_stream().wait_stream(s)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y.copy_(x * 2)
        dist.all_reduce(y)
        x.add_(1)
    for i in range(20):
        g.replay()
    torch.cuda.synchronize()
    print("graph", x.sum().item(), y.sum().item())


def step():
    from torch.nn.parallel import DistributedDataParallel

    layers, width = int(os.environ.get("STEP_LAYERS", 8)), int(os.environ.get("STEP_WIDTH", 2048))
    layer = torch.nn.TransformerEncoderLayer(width, width // 128, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
    model = DistributedDataParallel(torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).cuda(), device_ids=[0])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, foreach=True)
    batch, warm, steps = 4, 2, int(os.environ.get("STEP_STEPS", 20))
    while True:
        x = torch.randn(batch, 1024, width, device="cuda")

        def one():
            with torch.autocast("cuda", torch.bfloat16):
                loss = model(x).float().square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        for _ in range(warm):
            one()
        torch.cuda.synchronize()
        begin = time.monotonic()
        one()
        torch.cuda.synchronize()
        # The batch of the first run is that of all: STEP_BATCH.
        if "STEP_BATCH" in os.environ and batch != int(os.environ["STEP_BATCH"]):
            batch = int(os.environ["STEP_BATCH"])
        elif "STEP_BATCH" in os.environ or time.monotonic() - begin > 0.1:
            break
        else:
            batch *= 2
    begin = time.monotonic()
    for _ in range(steps):
        one()
    torch.cuda.synchronize()
    print("batch", batch, file=sys.stderr)
    print("%.3f ms a step" % ((time.monotonic() - begin) / steps * 1e3), file=sys.stderr)


def eager():
    for dtype in torch.float32, torch.bfloat16, torch.float16, torch.uint8:
        x = torch.ones(1 << 28, dtype=torch.uint8, device="cuda").view(dtype)
        ask = [torch.min, torch.max] + ([torch.linalg.vector_norm, lambda t: torch.isnan(t).any()] if dtype.is_floating_point else [])
        best = 1e9
        for _ in range(5):
            torch.cuda.synchronize()
            begin = time.monotonic()
            for f in ask:
                f(x)
            torch.cuda.synchronize()
            best = min(best, time.monotonic() - begin)
        print("# eager %s: %d functions, %.0f GB/s of the tensor" % (dtype, len(ask), x.nbytes / best / 1e9))


if part == "collectives":
    collectives()
elif part == "step":
    step()
elif part == "eager":
    eager()
elif part == "operators":
    operators()
elif part == "profiler":
    from torch.profiler import profile

    with profile() as seen:
        train(Net().cuda(), steps=10)
    print("kernels", sum(e.device_type != torch.autograd.DeviceType.CPU for e in seen.events()) > 100)
elif part in ("train", "nan", "gloo"):
    from torch.nn.parallel import DistributedDataParallel

    train(DistributedDataParallel(Net().cuda(), device_ids=[0]), steps=40, spoil=7 if part == "nan" else -1)
elif part == "fsdp":
    from torch.distributed.fsdp import fully_shard

    net = Net().cuda()
    for m in (net.first, net.second, net.last):
        fully_shard(m)
    train(fully_shard(net), autocast=False)
elif part == "compile":
    net = Net(256).cuda()
    train(torch.compile(net, mode="reduce-overhead"), autocast=False)
elif part == "graph":
    graph()
if dist.is_initialized():
    dist.barrier()
    torch.cuda.synchronize()
    dist.destroy_process_group()
