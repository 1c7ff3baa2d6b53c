# SPDX-License-Identifier: Apache-2.0
"""Data parallel with gradient accumulation; the shards are uneven, so that Join shadows the collectives of ranks that are done."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

from planned import OPTIONS, Fault, line, start

rank, world = start()
fault = Fault(rank)
size = int(OPTIONS.get("size", 2))
model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 16 * size), nn.Tanh(), nn.Linear(16 * size, 4)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = torch.Generator().manual_seed(100 + rank)
truth = torch.randn(12, 4, generator=torch.Generator().manual_seed(3))
epochs = 4
batches = max(2, int(OPTIONS.get("steps", 16)) // epochs) + rank % 2


def hook(grad):
    """The gradient of this rank before it is reduced."""
    grad = grad.clone()
    if model.require_backward_grad_sync:
        fault.change_values("grad", grad, backward_line)
    return grad


model.module[0].weight.register_hook(hook)
for epoch in range(epochs):
    seen = torch.zeros(6)
    with Join([model]):
        for _ in range(batches):
            fault.go(line())
            for micro in range(2):
                x = torch.randn(8, 12, generator=data)
                with model.no_sync() if micro == 0 else contextlib.nullcontext():
                    loss = F.mse_loss(model(x), x @ truth) / 2
                    loss = fault.change_loss(loss, line())
                    backward_line = line() + 1
                    loss.backward()
                seen += torch.stack([loss.detach(), x.mean(), x.std(), x.abs().max(), loss.detach() ** 2, torch.tensor(8.0)])
            optimizer.step()
            optimizer.zero_grad()
            fault.part(model.module[2].weight, line())
            fault.step += 1
    call = fault.change_call(seen, line() + 2)
    for _ in range(call.times):
        dist.all_reduce(call.data, op=call.op)
    fault.go(line())
dist.barrier()
dist.destroy_process_group()
