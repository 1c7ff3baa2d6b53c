# SPDX-License-Identifier: Apache-2.0
"""
A training of three steps whose gradients are of all forms: contiguous, transposed, channels last, bfloat16, a single number, 0
here and there; one parameter has none. Ranks add theirs up by hand, as DDP would not for bfloat16 on gloo.

    grads.py [--truth DIR] [--seed N] [--msprobe FILE]

    --truth DIR     write DIR/rank<R>/<step>.npz: each parameter's gradient as float32 when the optimizer's step begins
    --msprobe FILE  under PrecisionDebugger of mindstudio-probe 8.1.0 with that configuration
Prints a digest of weights, bit by bit.
"""
import hashlib
import os
import sys

import numpy
import torch
import torch.distributed as dist
from torch import nn

argument = dict(zip(sys.argv[1::2], sys.argv[2::2]))
several = "RANK" in os.environ
if several:
    dist.init_process_group("gloo")
rank, size = (dist.get_rank(), dist.get_world_size()) if several else (0, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
        self.turned = nn.Parameter(torch.linspace(-1, 1, 40).reshape(4, 10).t())
        self.small = nn.Linear(10, 300).bfloat16()
        self.gain = nn.Parameter(torch.tensor(0.5))
        self.unused = nn.Parameter(torch.ones(3))

    def forward(self, x):
        x = torch.relu(self.conv(x.to(memory_format=torch.channels_last))).mean((2, 3))
        x = x @ self.turned.t() * self.gain
        return self.small(x.bfloat16()).float()


torch.manual_seed(int(argument.get("--seed", 1)))
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if "--msprobe" in argument:
    from msprobe.pytorch import PrecisionDebugger

    PrecisionDebugger(argument["--msprobe"]).monitor(model)
for step in range(3):
    x = torch.randn(2, 3, 6, 6) + rank
    loss = (model(x) ** 2).sum()
    loss.backward()
    for p in model.parameters():
        if p.grad is not None and several:
            g = p.grad.float().contiguous()
            dist.all_reduce(g)
            p.grad.copy_(g / size)
    if "--truth" in argument:
        folder = f"{argument['--truth']}/rank{rank}"
        os.makedirs(folder, exist_ok=True)
        numpy.savez(f"{folder}/{step}.npz", **{n: p.grad.float().numpy() for n, p in model.named_parameters() if p.grad is not None})
    optimizer.step()
    optimizer.zero_grad()
    h = hashlib.sha256()
    for p in model.parameters():
        h.update(p.detach().float().contiguous().numpy().tobytes())
    print(rank, step, h.hexdigest()[:16], flush=True)
if several:
    dist.destroy_process_group()
