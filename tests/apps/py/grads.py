# SPDX-License-Identifier: Apache-2.0
"""
A training of three steps whose gradients are of all forms: contiguous, transposed, channels last, bfloat16, a single number, 0
here and there; one parameter has none. Ranks add theirs up by hand, as DDP would not for bfloat16 on gloo.

    grads.py [--truth DIR] [--seed N] [--how fsdp2|zero] [--kill STEP] [--msprobe FILE]

    --truth DIR     write DIR/rank<R>/<step>.npz: each parameter's gradient as float32 when the optimizer's step begins
    --how fsdp2     another model, of which each rank has a part of every parameter
    --how zero      that model; each rank's optimizer has some of the parameters whole, and gives them to the others
    --kill STEP     each rank is killed by itself when it has said that step
    --msprobe FILE  under PrecisionDebugger of mindstudio-probe 8.1.0 with that configuration
Prints a digest of weights, bit by bit.
"""
import hashlib
import os
import signal
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
sharded = argument.get("--how") == "fsdp2"
model = nn.Sequential(nn.Flatten(), nn.Linear(108, 9), nn.Tanh(), nn.Linear(9, 4)) if "--how" in argument else Net()
if sharded:
    from torch.distributed.fsdp import fully_shard

    for part in (model[1], model[3]):
        fully_shard(part)
    fully_shard(model)
if argument.get("--how") == "zero":
    from torch.distributed.optim import ZeroRedundancyOptimizer

    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if "--msprobe" in argument:
    from msprobe.pytorch import PrecisionDebugger

    PrecisionDebugger(argument["--msprobe"]).monitor(model)
for step in range(3):
    x = torch.randn(2, 3, 6, 6) + rank
    loss = (model(x) ** 2).sum()
    loss.backward()
    for p in model.parameters():
        if p.grad is not None and several and not sharded:
            g = p.grad.float().contiguous()
            dist.all_reduce(g)
            p.grad.copy_(g / size)
    if "--truth" in argument:
        folder = f"{argument['--truth']}/rank{rank}"
        os.makedirs(folder, exist_ok=True)
        kept = {n: p.grad.to_local() if sharded else p.grad for n, p in model.named_parameters() if p.grad is not None}
        numpy.savez(f"{folder}/{step}.npz", **{n: g.float().numpy() for n, g in kept.items() if g.numel()})
    optimizer.step()
    optimizer.zero_grad()
    h = hashlib.sha256()
    for p in model.parameters():
        p = p.to_local() if sharded else p
        h.update(p.detach().float().contiguous().numpy().tobytes())
    print(rank, step, h.hexdigest()[:16], flush=True)
    if argument.get("--kill") == str(step):
        if several:
            dist.barrier()
        os.kill(os.getpid(), signal.SIGKILL)
if several:
    dist.destroy_process_group()
