# SPDX-License-Identifier: Apache-2.0
"""Local SGD: each rank trains alone for three steps, then differences are averaged and an outer Nesterov step is taken by all."""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from planned import OPTIONS, Fault, line, read_sizes, start

EVERY = 3
rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
model = nn.Sequential(nn.Linear(10, 16 * size), nn.LayerNorm(16 * size), nn.SiLU(), nn.Linear(16 * size, 3))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps + 4)
anchors = [p.detach().clone() for p in model.parameters()]
outer = torch.optim.SGD(anchors, lr=0.7, momentum=0.9, nesterov=True)
data = torch.Generator().manual_seed(500 + 11 * rank + int(OPTIONS.get("seed", 1)))
teacher = torch.randn(10, 3, generator=torch.Generator().manual_seed(5))
losses = []
for step in range(steps):
    fault.step = step
    fault.go(line())
    x = torch.randn(16, 10, generator=data)
    loss = F.mse_loss(model(x), torch.tanh(x @ teacher))
    loss = fault.change_loss(loss, line())
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    fault.step = step + 1
    means = torch.stack([loss.detach(), norm.detach(), torch.tensor(float(len(x))), torch.tensor(float(step))])
    call = fault.change_call(means, line() + 2) if fault.pick % 2 else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else means, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(means[0]) / world)
    if step % EVERY < EVERY - 1:
        continue
    for anchor, p in zip(anchors, model.parameters()):
        anchor.grad = anchor - p.detach()
        call = None
        if p.dim() == 2:
            fault.change_values(f"delta{p.shape}", anchor.grad, line() + 3)
            call = fault.change_call(anchor.grad, line() + 2)
        for _ in range(call.times if call else 1):
            dist.all_reduce(call.data if call else anchor.grad, op=call.op if call else dist.ReduceOp.SUM)
        anchor.grad /= world
    outer.step()
    with torch.no_grad():
        for anchor, p in zip(anchors, model.parameters()):
            p.copy_(anchor)
if not losses[-1] < losses[0] or any(not torch.isfinite(a).all() for a in anchors):
    print(f"rank {rank}: the loss went from {losses[0]:g} to {losses[-1]:g}", file=sys.stderr)
dist.barrier()
dist.destroy_process_group()
