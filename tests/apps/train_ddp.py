# SPDX-License-Identifier: Apache-2.0
"""
A small training with DistributedDataParallel on the CPU, for a first look at what libprobe records:

    LD_PRELOAD=/path/libprobe.so torchrun --nproc_per_node=2 tests/apps/train_ddp.py

    --steps N          optimizer steps (default 20)
    --batch N          rows of a rank in a step (default 32)
    --nan-at STEP:RANK one input value of that rank is 0 in that step, and its logarithm is taken: -inf, then NaN
    --slow STEP:RANK   that rank is late by --delay from that step on
    --delay SECONDS    (default 0.2)

The task is made up: whether a point lies within a ring. Prints the loss of rank 0 with all digits, so that two runs can be
compared.
"""
import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def place(text):
    step, rank = text.split(":")
    return int(step), int(rank)


def options():
    parser = argparse.ArgumentParser(description="A small training with DistributedDataParallel on the CPU.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--nan-at", type=place, metavar="STEP:RANK")
    parser.add_argument("--slow", type=place, metavar="STEP:RANK")
    parser.add_argument("--delay", type=float, default=0.2, metavar="SECONDS")
    return parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 1))

    def forward(self, x):
        return self.body(features(x))


def features(x):
    """The coordinates, and how far they are from the axes, on a logarithmic scale."""
    far = x.abs().log()
    return torch.cat([x, far], dim=1)


def batch_of(step, rank, args):
    """Points of the plane; the same in each run."""
    g = torch.Generator().manual_seed(1000 * step + rank)
    x = torch.randn(args.batch, 2, generator=g)
    y = ((x.norm(dim=1) > 0.7) & (x.norm(dim=1) < 1.5)).float().unsqueeze(1)
    if args.nan_at == (step, rank):
        x[3, 1] = 0
    return x, y


def average(value):
    """Over all ranks."""
    value = value.detach().clone()
    dist.all_reduce(value)
    return value / dist.get_world_size()


def train_step(model, optimizer, x, y):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return average(loss)


def main():
    args = options()
    torch.manual_seed(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    model = DistributedDataParallel(Net())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        if args.slow and step >= args.slow[0] and rank == args.slow[1]:
            time.sleep(args.delay)  # what a slow disk or a hot processor does
        x, y = batch_of(step, rank, args)
        loss = train_step(model, optimizer, x, y)
        if rank == 0:
            sys.stdout.write(f"step {step:3}  loss {loss.item():.17g}\n")
            sys.stdout.flush()
    dist.barrier()  # no rank leaves while another one still needs it
    dist.destroy_process_group()
    # PyTorch 2.13 with gloo ends now and then with "terminate called without an active exception", in destructors that run
    # at exit, on a machine with more to do than it has cores.
    os._exit(0)


if __name__ == "__main__":
    main()
