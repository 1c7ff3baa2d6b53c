# SPDX-License-Identifier: Apache-2.0
"""A training of one rank under torch.profiler: prints the losses, and how often the profiler saw each operator."""
import os
import sys

import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile

os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", GLOO_SOCKET_IFNAME="lo")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
torch.manual_seed(1)
model = torch.nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 64)).square().mean()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        optimizer.step()
        print(f"loss {loss.item():.17g}")


if "alone" in sys.argv:
    train(5)
else:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, profile_memory=True, with_stack=True) as prof:
        train(5)
    for e in sorted(prof.key_averages(), key=lambda e: e.key):
        if e.key.startswith("aten::") or "allreduce" in e.key:
            print(e.key, e.count)
dist.destroy_process_group()
