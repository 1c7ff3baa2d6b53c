# SPDX-License-Identifier: Apache-2.0
"""
Ranks that accumulate gradients over micro steps by themselves and reduce them in the end; under torchrun: micro_losses.py FILE [odd].
FILE.<rank> has lines `step micro loss norm`, the norm of all gradients as accumulated so far; odd: rank 1 has a batch of other data
in step 5, micro step 1. Prints a checksum of the weights.
"""
import sys
import zlib

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), lr=0.01)
torch.manual_seed(100 + rank)
with open(f"{sys.argv[1]}.{rank}", "w") as truth:
    for step in range(10):
        for micro in range(2):
            x = torch.randn(32, 8)
            target = 1 + x.sum(1, keepdim=True)
            if "odd" in sys.argv and (rank, step, micro) == (1, 5, 1):
                target = target * 30
            loss = (net(x) - target).square().mean()
            (loss / 2).backward()
            norm = sum(p.grad.double().square().sum().item() for p in net.parameters()) ** 0.5
            print(step, micro, loss.item(), norm, file=truth)
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        opt.step()
        opt.zero_grad()
print(zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in net.parameters())))
dist.destroy_process_group()
