# SPDX-License-Identifier: Apache-2.0
"""A pipeline of all ranks, all micro batches forward and then back; the last rank has a copy of the first one's embedding as its head."""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from planned import OPTIONS, Fault, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, WORDS, MICRO, BATCH, LENGTH = 8 * size, 24, 3, 4, 6
is_first, is_last = rank == 0, rank == world - 1
ends = dist.new_group([0, world - 1])
words = nn.Embedding(WORDS, WIDTH)
torch.manual_seed(20 + rank)
block = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
mine = [*block.parameters(), *(words.parameters() if is_first or is_last else [])]
optimizer = torch.optim.AdamW(mine, lr=5e-3)
text = torch.Generator().manual_seed(9 + int(OPTIONS.get("seed", 1)))
losses = []


def forward(tokens):
    """Returns what came in, what goes out; on the last rank the loss goes out."""
    if is_first:
        before = words(tokens)
    else:
        before = torch.empty(BATCH, LENGTH, WIDTH)
        dist.recv(before, rank - 1)
        before.requires_grad_()
    after = before + block(before)
    if is_last:
        return before, F.cross_entropy((after @ words.weight.t()).flatten(0, 1), (tokens.flatten() + 5) % WORDS) / MICRO
    sent = after.detach().clone()
    fault.change_values("activations", sent, line() + 1)
    dist.send(sent, rank + 1)
    return before, after


def backward(before, after):
    if is_last:
        after.backward()
    else:
        grad = torch.empty_like(after)
        dist.recv(grad, rank + 1)
        after.backward(grad)
    if not is_first:
        sent = before.grad.clone()
        fault.change_values("gradients", sent, line() + 1)
        dist.send(sent, rank - 1)


for step in range(steps):
    fault.step = step
    optimizer.zero_grad()
    kept, total = [], 0.0
    for _ in range(MICRO):
        kept.append(forward(torch.randint(0, WORDS, (BATCH, LENGTH), generator=text)))
        total += float(kept[-1][1].detach()) if is_last else 0.0
    fault.go(line())
    for before, after in kept:
        backward(before, after)
    if is_first or is_last:
        grad = words.weight.grad
        call = fault.change_call(grad, line() + 2)
        for _ in range(call.times):
            dist.all_reduce(call.data, op=call.op, group=ends)
    norms = torch.stack([p.grad.norm() ** 2 for p in block.parameters()]).sum().view(1)
    dist.all_reduce(norms)
    for p in mine:
        p.grad *= min(1.0, 1.0 / float(norms.sqrt()))
    optimizer.step()
    if is_first or is_last:
        fault.part(words.weight, line())
    losses.append(total)
if is_last and not losses[-1] < losses[0]:
    print(f"rank {rank}: the loss went from {losses[0]:g} to {losses[-1]:g}", file=sys.stderr)
dist.barrier()
dist.destroy_process_group()
