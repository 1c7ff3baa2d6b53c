# SPDX-License-Identifier: Apache-2.0
"""
A training with DDP that goes on until a file is there, for configurations that change meanwhile: all ranks end in the same step.

    switched.py STOP [MILLISECONDS]

Prints the loss of the first 30 steps, bit by bit.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)))
optimizer = torch.optim.Adam(model.parameters())
wait = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0
step = 0
over = torch.zeros(1)
while not over.item() or step < 30:
    loss = model(torch.randn(8, 4)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    over = torch.tensor([float(os.path.exists(sys.argv[1]))])
    dist.all_reduce(over)
    if step < 30:
        print(dist.get_rank(), step, loss.item().hex(), flush=True)
    step += 1
    time.sleep(wait)
dist.destroy_process_group()
