# SPDX-License-Identifier: Apache-2.0
"""A transformer block whose sequence is divided over the ranks; rank 0 alone evaluates every five steps and says how to go on."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from planned import OPTIONS, Fault, line, start

rank, world = start()
fault = Fault(rank)
size = int(OPTIONS.get("size", 2))
WIDTH, TOKENS, WORDS = 16 * size, 8, 40


class Gather(torch.autograd.Function):
    """All ranks' parts of the sequence; in the backward pass the sum of all ranks' gradients of the own part."""

    @staticmethod
    def forward(ctx, part):
        part = part.contiguous()
        whole = [torch.empty_like(part) for _ in range(world)]
        dist.all_gather(whole, part)
        return torch.cat(whole, 1)

    @staticmethod
    def backward(ctx, grad):
        parts = [g.contiguous() for g in grad.chunk(world, 1)]
        for k, g in enumerate(parts):
            dist.reduce(g, k)
        return parts[rank]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.mlp = nn.Linear(WIDTH, 3 * WIDTH), nn.Sequential(nn.Linear(WIDTH, 64), nn.GELU(), nn.Linear(64, WIDTH))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        if self.training:
            k, v = Gather.apply(torch.cat([k, v], -1)).chunk(2, -1)
        x = x + F.scaled_dot_product_attention(q, k, v)
        return self.head(x + self.mlp(x))


model = Block()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
text = torch.Generator().manual_seed(7)
for step in range(int(OPTIONS.get("steps", 18))):
    fault.step = step
    batch = torch.randint(0, WORDS, (4, TOKENS * world + 1), generator=text)
    mine = slice(rank * TOKENS, (rank + 1) * TOKENS)
    fault.go(line())
    loss = F.cross_entropy(model(batch[:, :-1][:, mine]).flatten(0, 1), (batch[:, 1:][:, mine] // 2).flatten())
    loss = fault.change_loss(loss, line())
    optimizer.zero_grad()
    loss.backward()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    fault.change_values("grads", flat, line() + 3)
    call = fault.change_call(flat, line() + 2)
    for _ in range(call.times):
        dist.all_reduce(call.data, op=call.op)
    at = 0
    for p in model.parameters():
        p.grad.copy_(flat[at:at + p.numel()].view_as(p) / world)
        at += p.numel()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    fault.part(model.head.weight, line())
    if step % 5 == 4:
        rate = torch.tensor([3e-3])
        if rank == 0:
            model.eval()
            with torch.no_grad():
                held = torch.randint(0, WORDS, (2, TOKENS + 1), generator=torch.Generator().manual_seed(step))
                rate *= 0.5 if F.cross_entropy(model(held[:, :-1]).flatten(0, 1), held[:, 1:].flatten() // 2) > 3 else 0.8
            model.train()
        dist.broadcast(rate, 0)
        optimizer.param_groups[0]["lr"] = float(rate)
dist.barrier()
dist.destroy_process_group()
