# SPDX-License-Identifier: Apache-2.0
"""
Three steps before the process group is made, three (or STEPS) after it: a process learns its rank when its files have been
begun. Started without RANK in its environment.

    late_rank.py RANK PORT [STEPS]
"""
import sys
import time

import torch
import torch.distributed as dist

rank, port = int(sys.argv[1]), sys.argv[2]
after = int(sys.argv[3]) if len(sys.argv) > 3 else 3
torch.manual_seed(1 + rank)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train(steps):
    for _ in range(steps):
        net(torch.ones(3, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


train(3)
time.sleep(1.5)  # files are written each second
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
train(after)
dist.barrier()
print(rank, net.weight.sum().item(), flush=True)
dist.destroy_process_group()
