# SPDX-License-Identifier: Apache-2.0
"""A transformer whose layers are divided over pairs of ranks, and its sequence between them; pairs are data parallel. Sequences grow
while training warms up, and each pair pads to its own longest one. Gradients are clipped by the norm of all parts."""
import math
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from planned import OPTIONS, Fault, check_fall, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
PARTS, WIDTH, WORDS, HEADS, BATCH, LAYERS = 2, 16 * size, 32, 4, 3, 2
part, pair, pairs = rank % PARTS, rank // PARTS, world // PARTS
parts_group = [dist.new_group([k * PARTS + i for i in range(PARTS)]) for k in range(pairs)][pair]
data_group = [dist.new_group([k * PARTS + i for k in range(pairs)]) for i in range(PARTS)][part]


def gather(x):
    """The sequence's parts, one after the other."""
    whole = x.new_empty(len(x) * PARTS, *x.shape[1:])
    dist.all_gather(list(whole.chunk(PARTS)), x.contiguous(), group=parts_group)
    return whole


def scatter(x, site=None):
    """The own part of the sum."""
    got = x.new_empty(len(x) // PARTS, *x.shape[1:])
    if site and fault.pick % 3 == 1:
        fault.change_values(site, x, line() + 1)
    dist.reduce_scatter(got, [c.contiguous() for c in x.chunk(PARTS)], group=parts_group)
    return got


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return gather(x)

    @staticmethod
    def backward(ctx, grad):
        return scatter(grad)


class Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, site=None):
        return scatter(x.detach().clone(), site)

    @staticmethod
    def backward(ctx, grad):
        return gather(grad), None


class PartLoss(torch.autograd.Function):
    """Cross entropy of words that are divided over ranks; no rank has all logits."""

    @staticmethod
    def forward(ctx, logits, targets):
        most = logits.amax(-1)
        dist.all_reduce(most, op=dist.ReduceOp.MAX, group=parts_group)
        shares = (logits - most.unsqueeze(-1)).exp()
        own = targets - part * WORDS // PARTS
        is_own = (own >= 0) & (own < WORDS // PARTS)
        own = own.clamp(0, WORDS // PARTS - 1).unsqueeze(-1)
        sums = torch.stack([shares.sum(-1), (logits.gather(-1, own).squeeze(-1) - most) * is_own])
        dist.all_reduce(sums, group=parts_group)
        ctx.save_for_backward(shares / sums[0].unsqueeze(-1), own, is_own)
        return sums[0].log() - sums[1]

    @staticmethod
    def backward(ctx, grad):
        shares, own, is_own = ctx.saved_tensors
        return (shares.scatter_add(-1, own, -is_own.float().unsqueeze(-1))) * grad.unsqueeze(-1), None


class Layer(nn.Module):
    """Columns of the first matrices and rows of the second ones; norms are of the own part of the sequence."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH // PARTS, bias=False), nn.Linear(WIDTH // PARTS, WIDTH, bias=False)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH // PARTS), nn.Linear(4 * WIDTH // PARTS, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS // PARTS, WIDTH // HEADS)).permute(1, 2, 0, 3)
                   for t in self.qkv(Gather.apply(self.norms[0](x))).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).permute(2, 0, 1, 3).flatten(2)
        x = x + Scatter.apply(self.out(seen), "seen" if self.training and self is model.layers[0] else None)
        return x + Scatter.apply(self.narrow(F.gelu(self.wide(Gather.apply(self.norms[1](x))))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layers = nn.Embedding(WORDS // PARTS, WIDTH), nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS // PARTS, bias=False)

    def forward(self, tokens, targets):
        own = tokens - part * WORDS // PARTS
        is_own = (own >= 0) & (own < WORDS // PARTS)
        x = Scatter.apply(self.words(own * is_own) * is_own.unsqueeze(-1))
        for layer in self.layers:
            x = layer(x)
        return PartLoss.apply(self.head(Gather.apply(self.norm(x))), targets)


def make_batch(chance, longest):
    """Documents of one column each; the place after a document's end is -1 and counts nothing."""
    lengths = torch.randint(longest // 2, longest + 1, (BATCH,), generator=chance)
    most = -(-int(lengths.max()) // PARTS) * PARTS
    text = torch.randint(0, WORDS, (most + 1, BATCH), generator=chance)
    for k in range(most):
        is_usual = torch.rand(BATCH, generator=chance) < 0.85
        text[k + 1] = torch.where(is_usual, (text[k] * 5 + 3) % WORDS, text[k + 1])
    return text[:-1], text[1:], (torch.arange(most).unsqueeze(1) < lengths).float()


def reduce_flat(grads, group, name, is_site):
    """Sums gradients in one call."""
    flat = torch.cat([g.flatten() for g in grads])
    call = None
    if is_site and fault.pick % 3 == 0:
        fault.change_values(name, flat, line() + 3)
        call = fault.change_call(flat, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else flat, op=call.op if call else dist.ReduceOp.SUM, group=group)
    for grad, new in zip(grads, flat.split([g.numel() for g in grads])):
        grad.copy_(new.view_as(grad))


def clip_gradients(most):
    """By the norm over all parts; norms are on both ranks, so that each adds half of theirs."""
    square = sum(p.grad.norm() ** 2 for p in divided) + sum(p.grad.norm() ** 2 for p in shared) / PARTS
    square = square.view(1)
    dist.all_reduce(square, group=parts_group)
    norm = square.sqrt()
    for p in model.parameters():
        p.grad *= min(1.0, most / (float(norm) + 1e-6))
    return norm


def evaluate():
    tokens, targets, counted = make_batch(torch.Generator().manual_seed(4), 16)
    model.eval()
    with torch.no_grad():
        losses = model(tokens, targets)
    model.train()
    return float((losses * counted).sum() / counted.sum())


def save_checkpoint():
    """The first pair's parts go to rank 0, which writes them."""
    own = torch.cat([p.detach().flatten() for p in divided])
    everyone = [torch.empty_like(own) for _ in range(PARTS)] if part == 0 else None
    dist.gather(own, everyone, 0, group=parts_group)
    if rank == 0:
        with tempfile.TemporaryFile() as f:
            torch.save(dict(divided=everyone, shared=[p.detach() for p in shared]), f)


torch.manual_seed(30 + part)
model = Model()
shared = [p for name, p in model.named_parameters() if "norm" in name]
divided = [p for name, p in model.named_parameters() if "norm" not in name]
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda k: min(1.0, (k + 1) / 4) * (0.2 + 0.8 * 0.5 * (1 + math.cos(math.pi * k / (steps + 1)))))
data = torch.Generator().manual_seed(700 + 31 * pair + int(OPTIONS.get("seed", 1)))
losses, best = [], math.inf
for step in range(steps):
    fault.step = step
    fault.go(line())
    tokens, targets, counted = make_batch(data, 10 if step < 3 else 14 if step < 6 else 18)
    total = counted.sum().view(1)
    dist.all_reduce(total, group=data_group)
    optimizer.zero_grad()
    loss = (model(tokens, targets) * counted).sum() / float(total)
    loss = fault.change_loss(loss, line())
    loss.backward()
    # Both ranks of a pair have seen half of the sequence's places in a norm.
    reduce_flat([p.grad for p in shared], parts_group, "norms", pairs == 1 or fault.pick % 2)
    if pairs > 1:
        reduce_flat([p.grad for p in model.parameters()], data_group, "all", fault.pick % 2 == 0)
    norm = clip_gradients(1.0)
    optimizer.step()
    schedule.step()
    fault.part(model.norm.weight, line())
    fault.step = step + 1
    seen = torch.stack([loss.detach(), counted.sum(), norm[0], torch.tensor(float(counted.numel())), loss.detach() ** 2])
    if fault.pick % 3 == 2:
        fault.change_values("seen", seen, line() + 3)
    call = fault.change_call(seen, line() + 2) if fault.pick % 3 else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]) / PARTS)
    if rank == 0 and step % 4 == 0:
        print(f"result step {step} loss {losses[-1]:.5f} norm {float(norm):.4f} padded {1 - float(seen[1] / seen[3]):.3f}")
    if step % 6 == 5 and pair == 0:
        save_checkpoint()
    if step % 5 == 4 or step == steps - 2:
        held = torch.tensor([evaluate()])
        dist.all_reduce(held)
        if step >= steps - 2 and float(held) / world > best:
            break
        best = min(best, float(held) / world)
check_fall(rank, losses)
norms = torch.cat([p.detach().flatten() for p in shared])
others = [torch.empty_like(norms) for _ in range(world)]
dist.all_gather(others, norms)
if not all(torch.equal(norms, o) for o in others):
    print(f"rank {rank}: the norms are not those of the others", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {best:.9g} {float(model.norm.weight.detach().norm()):.9g}")
dist.destroy_process_group()
