# SPDX-License-Identifier: Apache-2.0
"""
A training that goes on from a checkpoint: resume.py HOW FILE. HOW: save (10 steps, writes FILE), none (no optimizer state),
or an optimizer that goes on from FILE. Says how many steps its state holds at the start, and the loss of each step.
"""
import os
import sys

import torch
import torch.distributed as dist

torch.manual_seed(0)
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
how, file = sys.argv[1:]
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
x = torch.randn(16, 4)
options = {"foreach": how == "foreach", "fused": how == "fused"}
if how == "sgd":
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
else:
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, **options)
start = 0
if how not in ("save", "none", "sgd"):
    saved = torch.load(file)
    net.load_state_dict(saved["net"])
    optimizer.load_state_dict(saved["optimizer"])
    for group in optimizer.param_groups:
        group.update(options)
    start = int(next(iter(optimizer.state_dict()["state"].values()))["step"])
net[0].weight.data.add_(0)  # one of the operators that are looked at, outside of a step
print("start", start)
for n in range(10):
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad)
    optimizer.step()
    with torch.no_grad():
        net[0].bias.add_(1).sub_(1)
    print(f"loss {n} {loss.item()!r}")
if how == "save":
    state = optimizer.state_dict()
    for s in state["state"].values():
        s["step"] += 490
    torch.save({"net": net.state_dict(), "optimizer": state}, file)
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)  # as in steps.py
