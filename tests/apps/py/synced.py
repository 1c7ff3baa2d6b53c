# SPDX-License-Identifier: Apache-2.0
"""
A training (rank 0) that gives its weights to a program that serves them (rank 1) after each of three steps, by broadcasts. In the last
step it skips one weight. RANK, MASTER_PORT in the environment; each rank is a program of its own.
"""
import os

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=2)
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 2))
names = [n for n, _ in model.named_parameters()]
if dist.get_rank() == 0:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    if dist.get_rank() == 0:
        model(torch.randn(4, 8)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    for name, p in model.named_parameters():
        if step < 2 or name != "1.bias":
            dist.broadcast(p.data, 0)
dist.barrier()
print(*names)
