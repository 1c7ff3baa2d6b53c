# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts, two on each rank: tokens go by all-to-all to where the router sends them; what all have in common is reduced."""
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from planned import OPTIONS, Fault, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, WORDS, EACH = 8 * size, 30, 2


class Exchange(torch.autograd.Function):
    """Rows to the ranks by out, from them by into; gradients go the way back."""

    @staticmethod
    def forward(ctx, rows, out, into):
        ctx.out, ctx.into = out, into
        got = rows.new_empty(sum(into), rows.shape[1])
        sent = rows.detach().contiguous().clone()
        if rows.requires_grad and fault.pick % 2:
            fault.change_values("rows", sent, line() + 1)
        dist.all_to_all_single(got, sent, into, out)
        return got

    @staticmethod
    def backward(ctx, grad):
        back = grad.new_empty(sum(ctx.out), grad.shape[1])
        dist.all_to_all_single(back, grad.contiguous(), ctx.out, ctx.into)
        return back, None, None


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EACH * world, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))
                                     for _ in range(EACH))

    def forward(self, x):
        shares = self.router(x).softmax(-1)
        share, chosen = shares.max(-1)
        order = chosen.argsort(stable=True)
        out = torch.bincount(chosen // EACH, minlength=world)
        into = torch.empty_like(out)
        dist.all_to_all_single(into, out)
        rows = Exchange.apply(x[order], out.tolist(), into.tolist())
        which = Exchange.apply(chosen[order].float().unsqueeze(1), out.tolist(), into.tolist()).flatten().long() % EACH
        done = torch.zeros_like(rows)
        for k, expert in enumerate(self.experts):
            done = done.index_put((which == k,), expert(rows[which == k]))
        y = torch.zeros_like(x).index_put((order,), Exchange.apply(done, into.tolist(), out.tolist()))
        load = torch.bincount(chosen, minlength=EACH * world) / len(x)
        return x + share.unsqueeze(1) * y, (load * shares.mean(0)).sum() * len(load)


words, layer, head = nn.Embedding(WORDS, WIDTH), Experts(), nn.Linear(WIDTH, WORDS)
torch.manual_seed(1000 + rank)
for expert in layer.experts:
    expert[0].reset_parameters()
shared = [*words.parameters(), *layer.router.parameters(), *head.parameters()]
optimizer = torch.optim.Adam([*shared, *layer.experts.parameters()], lr=1e-2)
data = torch.Generator().manual_seed(40 + 3 * rank + int(OPTIONS.get("seed", 1)))
losses = []
for step in range(steps):
    fault.step = step
    fault.go(line())
    tokens = torch.randint(0, WORDS, (24 + 2 * rank,), generator=data)
    y, balance = layer(words(tokens))
    loss = F.cross_entropy(head(y), (tokens * 7 + 3) % WORDS) + 0.01 * balance
    loss = fault.change_loss(loss, line())
    optimizer.zero_grad()
    loss.backward()
    losses.append(float(loss.detach()))
    flat = torch.cat([p.grad.flatten() for p in shared])
    if fault.pick % 2 == 0:
        fault.change_values("grads", flat, line() + 3)
    call = fault.change_call(flat, line() + 2)
    for _ in range(call.times):
        dist.all_reduce(call.data, op=call.op)
    for p, grad in zip(shared, flat.split([p.numel() for p in shared])):
        p.grad.copy_(grad.view_as(p) / world)
    optimizer.step()
    fault.part(head.weight, line())
if not losses[-1] < losses[0]:
    print(f"rank {rank}: the loss went from {losses[0]:g} to {losses[-1]:g}", file=sys.stderr)
dist.barrier()
dist.destroy_process_group()
