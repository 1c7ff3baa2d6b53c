# SPDX-License-Identifier: Apache-2.0
"""
A small training for what a run began with: settings.py [--lr X] [--manual SEED] [--steps N] [--deterministic]. Says the hash of a text,
the seed of PyTorch's generator, and the loss of each step.
"""
import argparse
import os
import sys

import torch
import torch.distributed as dist

p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--manual", type=int)
p.add_argument("--steps", type=int, default=4)
p.add_argument("--deterministic", action="store_true")
a = p.parse_args()
if a.manual is not None:
    torch.manual_seed(a.manual)
if a.deterministic:
    torch.use_deterministic_algorithms(True)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
half = dist.new_group([0])
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=a.lr)
x = torch.ones(16, 4)


def reduce_gradients():
    for q in net.parameters():
        dist.all_reduce(q.grad)  # gradients


print("hash", hash("probe"), "seed", torch.initial_seed(), flush=True)
for n in range(a.steps):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    reduce_gradients()
    if n == 3:
        dist.broadcast(x, 0, group=half)  # not in the first two steps
    else:
        dist.all_reduce(loss.detach().double(), group=half)  # loss
    optimizer.step()
    print(f"loss {n} {loss.item()!r}", flush=True)
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # as in steps.py
