# SPDX-License-Identifier: Apache-2.0
"""
Trainings of many kinds in one process. Each call of here(n) makes a collective of n + 1 elements, where n is the number
that the step should have at that place, and micro the micro step: the file says itself what it should hold.

    steps.py SCENE
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def here(step, micro=None):
    t = torch.zeros(step + 1, dtype=torch.float64)
    if micro is not None:
        t[0] = micro + 1
    dist.all_reduce(t)


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


x = torch.randn(16, 4)


def loss_of(model):
    return model(x).square().mean()


def plain():
    m = net()
    o = torch.optim.AdamW(m.parameters())
    for n in range(4):
        here(n)
        with torch.no_grad():
            loss_of(m)  # an evaluation
        loss_of(m).backward()
        here(n, 1)
        o.step()
        here(n + 1, 0)
        o.zero_grad()


def accumulation():
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(3):
        for k in range(4):
            here(n, k if n else None)
            loss_of(m).backward()
        here(n, 4)
        o.step()


def gan():
    d, g = net(), net()
    od, og = torch.optim.Adam(d.parameters()), torch.optim.Adam(g.parameters())
    for n in range(3):
        loss_of(d).backward()
        od.step()
        here(n + 1)
        loss_of(g).backward()
        og.step()
        here(n + 1)


def chained():
    m = net()
    os = [torch.optim.SGD([p], lr=0.1) for p in m.parameters()]
    for n in range(3):
        here(n)
        loss_of(m).backward()
        for o in os:
            o.step()
        here(n + 1)


def in_backward():
    m = net()
    for p in m.parameters():
        o = torch.optim.SGD([p], lr=0.1)
        p.register_post_accumulate_grad_hook(lambda _, o=o: o.step())
    for n in range(3):
        here(n)
        loss_of(m).backward()
        here(n + 1)


def closure():
    m = net()
    o = torch.optim.LBFGS(m.parameters(), max_iter=4)

    def again():
        o.zero_grad()
        loss = loss_of(m)
        loss.backward()
        return loss

    for n in range(3):
        here(n)
        o.step(again)
        here(n + 1)


def amp():
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for n in range(5):
        here(n)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = loss_of(m)
        if n in (1, 3):
            loss = loss * float("inf")
        o.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(o)
        scaler.update()
        here(n + 1)


def zero():
    from torch.distributed.optim import ZeroRedundancyOptimizer
    m = net()
    o = ZeroRedundancyOptimizer(m.parameters(), torch.optim.Adam, lr=0.1)
    for n in range(3):
        loss_of(m).backward()
        here(n, 1)
        o.step()
        here(n + 1)


def checkpoint():
    from torch.utils.checkpoint import checkpoint as ck
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    y = x.clone().requires_grad_()
    for n in range(3):
        out = ck(m, y, use_reentrant=True)
        (out.square().mean() + ck(m, y, use_reentrant=False).mean()).backward()
        here(n, 1)
        o.step()
        here(n + 1)


def penalty():
    """Gradients of gradients: autograd.grad() is no pass of its own."""
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    y = x.clone().requires_grad_()
    for n in range(3):
        g, = torch.autograd.grad(m(y).sum(), y, create_graph=True)
        g.square().sum().backward()
        here(n, 1)
        o.step()
        here(n + 1)


def raising():
    m = net()
    o = torch.optim.SGD(m.parameters(), lr=0.1)
    for n in range(3):
        try:
            bad = loss_of(m) * 1
            bad.register_hook(lambda g: 1 / 0)
            bad.backward()
        except ZeroDivisionError:
            pass
        loss_of(m).backward()
        o.step()
        here(n + 1)


globals()[sys.argv[1]]()
dist.destroy_process_group()
sys.stdout.write(f"{sys.argv[1]}: ok\n")
sys.stdout.flush()
os._exit(0)  # gloo threads that need the GIL while the interpreter ends abort it, without libprobe too (PyTorch issues 38228, 190489)
