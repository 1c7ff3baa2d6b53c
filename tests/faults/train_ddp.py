# SPDX-License-Identifier: Apache-2.0
"""
A data-parallel training in PyTorch with one fault in it (injected.py).

Each step: a broadcast of the rate, forward, backward (DistributedDataParallel reduces the gradients), an all_reduce of the loss, an
all_gather of a sum over the weights.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from injected import SEED, STEPS, average, due, hold_up


def new_rate(optimizer, step):
    rate = torch.tensor([0.01 / (1 + 0.1 * step)], dtype=torch.float64)
    dist.broadcast(rate, src=1 if due("root", step) else 0)
    for group in optimizer.param_groups:
        group["lr"] = rate.item()


def check(model, step):
    mine = torch.stack([(p.detach().double() * torch.arange(1, p.numel() + 1).reshape(p.shape)).sum() for p in model.parameters()])
    dist.all_gather([torch.empty_like(mine) for _ in range(dist.get_world_size())], mine)


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 1)), bucket_cap_mb=0.001)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(STEPS):
        g = torch.Generator().manual_seed(SEED * 7919 + step * 64 + dist.get_rank())
        x = torch.randn(32, 8, generator=g)
        hold_up(step)
        new_rate(optimizer, step)
        if due("nan", step):
            x[3, 2] = float("nan")
        if due("inf", step):
            x[3, 2] = float("inf")
        if due("spike", step):
            x[3, 2] = 1e7
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        swapped = due("order", step)
        if swapped:
            check(model, step)
        average(loss, step)
        if due("drift", step):
            with torch.no_grad():
                model.module[0].weight[3, 4] += 0.01
        optimizer.step()
        if not swapped:
            check(model, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
