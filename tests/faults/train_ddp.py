# SPDX-License-Identifier: Apache-2.0
"""
A data-parallel training in PyTorch with one fault in it (run by faults.py --torch): train_ddp.py [KEY=VALUE ...]

fault, rank, step, steps, seed. Each step: forward, backward (DistributedDataParallel reduces the gradients), an all_reduce of the
loss, every other step an all_gather of a sum over the weights. The rank at fault writes what it does, as JSON, to stderr.
"""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

given = dict(a.split("=", 1) for a in sys.argv[1:])
FAULT, STEPS, SEED = given.get("fault", "none"), int(given.get("steps", 14)), int(given.get("seed", 1))
WHO, WHEN = int(given.get("rank", -1)), int(given.get("step", -1))


def due(fault, step):
    if fault != FAULT or step != WHEN or dist.get_rank() != WHO:
        return False
    print("TRUTH " + json.dumps(dict(fault=fault, rank=WHO, step=step, site="", api="", pick=0)), file=sys.stderr, flush=True)
    return True


def average(loss, step):
    if due("skip", step):
        return
    for _ in range(2 if due("extra", step) else 1):
        t = loss.detach().double() if due("dtype", step) else loss.detach().clone()
        dist.all_reduce(t, op=dist.ReduceOp.MAX if due("redop", step) else dist.ReduceOp.SUM)


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
        if due("sleep", step):
            time.sleep(1000)
        if due("left", step):
            raise ValueError("a bad sample")
        if due("nan", step):
            x[3, 2] = float("nan")
        if due("spike", step):
            x[3, 2] = 1e7
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        average(loss, step)
        if due("drift", step):
            with torch.no_grad():
                model.module[0].weight[3, 4] += 0.01
        optimizer.step()
        check(model, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
