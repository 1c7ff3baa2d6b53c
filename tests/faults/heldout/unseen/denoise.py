# SPDX-License-Identifier: Apache-2.0
"""Noise is taken away from curves, by a network whose optimizer is divided: a gradient is reduced to the rank that owns the weight, which
updates and broadcasts it. Rank 0 writes the averaged weights, which it collects from their owners, and says when it is enough."""
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
WIDTH, PLACES, TIMES, BATCH, EVERY, BINS = 8 * size, 16, 20, 16, 4, 5
# Where a fault of values can be.
SITES = ("grads", "weights", "bins", "squares")
site = SITES[fault.pick % len(SITES)]


class Block(nn.Module):
    """What remains of a curve and what is known of its noise."""

    def __init__(self):
        super().__init__()
        self.norm, self.shift = nn.GroupNorm(2, WIDTH), nn.Linear(WIDTH, 2 * WIDTH)
        self.wide, self.narrow = nn.Conv1d(WIDTH, 2 * WIDTH, 3, padding=1), nn.Conv1d(2 * WIDTH, WIDTH, 3, padding=1)
        nn.init.zeros_(self.narrow.bias)

    def forward(self, x, time):
        scale, shift = self.shift(time).unsqueeze(-1).chunk(2, 1)
        return x + self.narrow(F.silu(self.wide(self.norm(x) * (1 + scale) + shift)))


class Denoiser(nn.Module):
    """A second channel is what it has said before, or zero."""

    def __init__(self):
        super().__init__()
        self.times, self.first = nn.Embedding(TIMES, WIDTH), nn.Conv1d(2, WIDTH, 3, padding=1)
        self.blocks, self.last = nn.ModuleList(Block() for _ in range(2)), nn.Conv1d(WIDTH, 1, 3, padding=1)
        nn.init.zeros_(self.last.weight)

    def forward(self, noisy, time, said):
        x, time = self.first(torch.stack([noisy, said], 1)), self.times(time)
        for block in self.blocks:
            x = block(x, time)
        return self.last(x).squeeze(1)


def choose_owners(parameters):
    """The largest first, each to the rank with the least."""
    loads, owners = [0] * world, {}
    for k in sorted(range(len(parameters)), key=lambda k: -parameters[k].numel()):
        owners[k] = loads.index(min(loads))
        loads[owners[k]] += parameters[k].numel()
    return [owners[k] for k in range(len(parameters))]


def make_curves(chance, many):
    """Waves; some have a step in them."""
    places = torch.linspace(0, 1, PLACES)
    waves = torch.sin(2 * math.pi * (torch.randint(1, 4, (many, 1), generator=chance) * places + torch.rand(many, 1, generator=chance)))
    steps = (places > torch.rand(many, 1, generator=chance)) * (torch.rand(many, 1, generator=chance) < 0.4)
    return waves + steps


def spoil(curves, chance):
    time = torch.randint(0, TIMES, (len(curves),), generator=chance)
    noise, share = torch.randn(curves.shape, generator=chance), ((time + 1) / (TIMES + 1)).unsqueeze(1)
    return (1 - share).sqrt() * curves + share.sqrt() * noise, time, noise


def find_losses(noisy, time, noise, is_repeated):
    said = torch.zeros_like(noisy)
    if is_repeated:
        with torch.no_grad():
            said = model(noisy, time, said)
    return (model(noisy, time, said) - noise).pow(2).mean(1)


def reduce_to_owners():
    """Each rank gets the sum of what it owns, in one call for each owner. Returns the squares of the own means."""
    for owner in range(world):
        part = [p for p, k in zip(parameters, owners) if k == owner]
        flat = torch.cat([p.grad.flatten() for p in part]) / world
        call = None
        # A rank's part of another one's gradients.
        if site == "grads" and owner == (rank + 1) % world:
            fault.change_values("grads", flat, line() + 3)
            call = fault.change_call(flat, line() + 2) if fault.name in ("skip", "extra", "dtype") else None
        for _ in range(call.times if call else 1):
            dist.reduce(call.data if call else flat, owner)
        for p, grad in zip(part, flat.split([p.numel() for p in part])):
            p.grad = grad.view_as(p) if owner == rank else None
    return sum(p.grad.pow(2).sum() for p in own).view(1)


def clip(square):
    call = None
    if site == "squares" or fault.name == "op":
        fault.change_values("squares", square, line() + 3)
        call = fault.change_call(square, line() + 2) if fault.name != "less" else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else square, op=call.op if call else dist.ReduceOp.SUM)
    norm = float(square.sqrt())
    for p in own:
        p.grad *= min(1.0, 1.0 / (norm + 1e-6))
    return norm


@torch.no_grad()
def spread_weights():
    """From each owner to all."""
    for owner in range(world):
        part = [p for p, k in zip(parameters, owners) if k == owner]
        flat = torch.cat([p.flatten() for p in part])
        call = None
        if site == "weights" and owner == rank:
            fault.change_values("weights", flat, line() + 3)
            call = fault.change_call(flat, line() + 2) if fault.name in ("skip", "extra", "dtype") else None
        for _ in range(call.times if call else 1):
            dist.broadcast(call.data if call else flat, owner)
        for p, new in zip(part, flat.split([p.numel() for p in part])):
            p.copy_(new.view_as(p))


@torch.no_grad()
def evaluate():
    """The held-out curves are divided over the ranks; another share of noise each time."""
    chance = torch.Generator().manual_seed(15)
    noisy, time, noise = (t[rank::world] for t in spoil(make_curves(chance, 30), chance))
    model.eval()
    losses = find_losses(noisy, time, noise, True)
    model.train()
    sums = torch.stack([losses.sum(), torch.tensor(float(len(losses)))])
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])


def save_averages():
    """Owners have sizes of their own, so that they send to rank 0 in turn."""
    flat = torch.cat([a.flatten() for a in averages])
    if rank:
        dist.send(flat, 0)
    else:
        parts = [flat] + [torch.empty(sum(p.numel() for p, k in zip(parameters, owners) if k == r)) for r in range(1, world)]
        for r in range(1, world):
            dist.recv(parts[r], r)
        with tempfile.TemporaryFile() as f:
            torch.save(dict(averages=parts, steps=fault.step), f)
    dist.barrier()


model = Denoiser()
parameters = list(model.parameters())
owners = choose_owners(parameters)
own = [p for p, k in zip(parameters, owners) if k == rank]
averages = [p.detach().clone() for p in own]
optimizer = torch.optim.AdamW(own, lr=8e-3, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda k: min(1.0, (k + 1) / 5) * (0.15 + 0.85 * 0.5 * (1 + math.cos(math.pi * k / (steps + 4)))))
chance, common = (torch.Generator().manual_seed(k + int(OPTIONS.get("seed", 1))) for k in (300 + 41 * rank, 90))
losses, held, norms = [], [], []
for step in range(steps):
    fault.step = step
    fault.go(line())
    noisy, time, noise = spoil(make_curves(chance, BATCH), chance)
    # All ranks say it twice, or none.
    each = find_losses(noisy, time, noise, bool(torch.rand(1, generator=common) < 0.5))
    loss = fault.change_loss(each.mean(), line())
    model.zero_grad()
    loss.backward()
    norms.append(clip(reduce_to_owners()))
    optimizer.step()
    schedule.step()
    fault.step = step + 1
    spread_weights()
    with torch.no_grad():
        for average, p in zip(averages, own):
            average.lerp_(p, max(0.1, 1 / (step + 1)))
    # Losses by how much noise there was; a bin may have none.
    bins = torch.zeros(2, BINS).index_add_(1, time * BINS // TIMES, torch.stack([each.detach(), torch.ones(BATCH)]))
    call = None
    if site == "bins" or fault.name == "less":
        fault.change_values("bins", bins, line() + 3)
        call = fault.change_call(bins, line() + 2) if fault.name != "op" else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else bins, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(bins[0].sum() / bins[1].sum()))
    if step % EVERY == EVERY - 1:
        held.append(evaluate())
        if rank == 0:
            by_noise = " ".join(f"{float(x):.3f}" for x in bins[0] / bins[1].clamp(min=1))
            print(f"result step {step} loss {losses[-1]:.5f} held out {held[-1]:.5f} norm {norms[-1]:.4f} by noise {by_noise}")
        if held[-1] == min(held):
            save_averages()
        # Rank 0 decides for all.
        stop = torch.tensor([int(rank == 0 and step > steps - 6 and held[-1] > 0.995 * min(held[:-1]))])
        dist.broadcast(stop, 0)
        if stop:
            break
check_fall(rank, losses)
if not held[-1] < 1.1:
    print(f"rank {rank}: no better than to say nothing: {held}", file=sys.stderr)
flat = torch.cat([p.detach().flatten() for p in parameters])
others = [torch.empty_like(flat) for _ in range(world)]
dist.all_gather(others, flat)
if not all(torch.equal(flat, o) for o in others):
    print(f"rank {rank}: the weights are not those of the others", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {held[-1]:.9g} {len(losses)} {float(flat.norm()):.9g}")
dist.destroy_process_group()
