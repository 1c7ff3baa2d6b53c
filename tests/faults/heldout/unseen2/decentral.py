# SPDX-License-Identifier: Apache-2.0
"""Training without a common model: each rank mixes its weights with those of one other rank, which is twice as far away the next time, and
takes a step on data of its own. Weights are on their way while the gradient is computed. All ranks take the mean when they are too far
from each other. Statistics of batch norm are those of all ranks before an evaluation."""
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
WIDTH, PLACES, KINDS, BATCH, EVERY, ROUNDS = 6 * size, 14, 5, 24, 4, max(1, math.ceil(math.log2(world)))
# Where a fault of values can be.
SITES = ("sent", "spread", "mean", "seen")
site = SITES[fault.pick % len(SITES)]
REDUCTION_FAULTS = ("extra", "less", "dtype", "op")


class Recognizer(nn.Module):
    """Of curves that contain a bump of one kind."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(1, WIDTH, 3, padding=1), nn.BatchNorm1d(WIDTH, momentum=0.3), nn.ReLU(),
                                    nn.Conv1d(WIDTH, 2 * WIDTH, 3, padding=1, stride=2), nn.BatchNorm1d(2 * WIDTH, momentum=0.3), nn.ReLU())
        self.out = nn.Linear(2 * WIDTH * PLACES // 2, KINDS)

    def forward(self, curves):
        return self.out(self.layers(curves.unsqueeze(1)).flatten(1))


class Average:
    """Of a model's weights over time; it is what is evaluated and saved."""

    def __init__(self, source):
        self.model = Recognizer().requires_grad_(False).eval()
        self.model.load_state_dict(source.state_dict())

    def follow(self, source, keep):
        for a, p in zip(self.model.parameters(), source.parameters()):
            a.lerp_(p.detach(), 1 - keep)

    def take_statistics(self, source):
        for mine, other in zip(self.model.buffers(), source.buffers()):
            mine.copy_(other)


def make_curves(chance, many, favourite):
    """Ranks see other shares of the kinds; favourite: None if all are as frequent."""
    kinds = torch.randint(0, KINDS, (many,), generator=chance)
    if favourite is not None:
        kinds = torch.where(torch.rand(many, generator=chance) < 0.4, torch.tensor(favourite), kinds)
    starts = torch.randint(0, PLACES - 4, (many, 1), generator=chance)
    places = torch.arange(PLACES)
    bumps = torch.zeros(many, PLACES)
    for k in range(5):
        bumps += (places == starts + k) * shapes[kinds][:, k:k + 1]
    return bumps + 0.4 * torch.randn(many, PLACES, generator=chance), kinds


def flatten_weights():
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@torch.no_grad()
def set_weights(flat):
    for p, new in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
        p.copy_(new.view_as(p))


class Mixing:
    """The weights that are on their way to one rank and from another one."""

    def __init__(self, turn):
        distance = 2 ** (turn % ROUNDS) % world
        self.own = flatten_weights()
        self.sent, self.got = self.own.clone(), self.own.clone()
        self.works = [dist.irecv(self.got, (rank - distance) % world)]
        call = None
        if site == "sent":
            fault.change_values("sent", self.sent, line() + 3)
            call = fault.change_call(self.sent, line() + 2) if fault.name == "skip" else None
        for _ in range(call.times if call else 1):
            self.works.append(dist.isend(self.sent, (rank + distance) % world))

    def finish(self):
        for work in self.works:
            work.wait()
        set_weights((self.own + self.got) / 2)


def measure_spread():
    """How far the ranks' weights are from their mean, of its own length. Each layer has a place of its own."""
    layers = [p.detach().flatten() for p in model.parameters()]
    flat = torch.cat([torch.stack([p.mean(), p.pow(2).mean()]) for p in layers])
    sums = flat.clone()
    call = None
    if site == "spread":
        fault.change_values("spread", sums, line() + 3)
        call = fault.change_call(sums, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else sums, op=call.op if call else dist.ReduceOp.SUM)
    off = (flat - sums / world).pow(2).sum().view(1)
    dist.all_reduce(off, op=dist.ReduceOp.MAX)
    return float(off.sqrt() / ((sums / world).pow(2).sum().sqrt() + 1e-9))


def take_mean():
    flat = flatten_weights()
    call = None
    if site == "mean":
        fault.change_values("mean", flat, line() + 3)
        call = fault.change_call(flat, line() + 2) if fault.name in ("skip", *REDUCTION_FAULTS) else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else flat, op=call.op if call else dist.ReduceOp.SUM)
    set_weights(flat / world)


@torch.no_grad()
def share_statistics():
    """Rank 0 sends the mean of all ranks' statistics back, as a server would."""
    buffers = [b for b in model.buffers() if b.is_floating_point()]
    flat = torch.cat([b.flatten() for b in buffers])
    dist.reduce(flat, 0)
    flat /= world
    dist.broadcast(flat, 0)
    for b, new in zip(buffers, flat.split([b.numel() for b in buffers])):
        b.copy_(new.view_as(b))


@torch.no_grad()
def evaluate():
    """Each rank's average on curves of its own, all kinds as frequent."""
    average.take_statistics(model)
    curves, kinds = make_curves(torch.Generator().manual_seed(40 + rank), 60, None)
    counts = torch.stack([(average.model(curves).argmax(1) == kinds).sum(), torch.tensor(len(kinds))])
    dist.all_reduce(counts)
    return float(counts[0] / counts[1])


shapes = 1.6 * torch.randn(KINDS, 5, generator=torch.Generator().manual_seed(8))
model = Recognizer()
for p in model.parameters():
    dist.broadcast(p.data, 0)
average = Average(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.8, nesterov=True)
chance = torch.Generator().manual_seed(700 + 37 * rank + int(OPTIONS.get("seed", 1)))
losses, found, means = [], [], 0
for step in range(steps):
    fault.step = step
    fault.go(line())
    mixing = Mixing(step)
    curves, kinds = make_curves(chance, BATCH, rank % KINDS)
    scores = model(curves)
    loss = fault.change_loss(F.cross_entropy(scores, kinds, label_smoothing=0.05), line())
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 3.0)
    mixing.finish()
    optimizer.step()
    fault.step = step + 1
    average.follow(model, min(0.6, step / (step + 2)))
    seen = torch.stack([loss.detach(), (scores.argmax(1) == kinds).float().mean(), norm, loss.detach() ** 2])
    call = None
    if site == "seen" or site == "sent" and fault.name in REDUCTION_FAULTS:
        fault.change_values("seen", seen, line() + 3)
        call = fault.change_call(seen, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]) / world)
    spread = measure_spread() if step % 2 else 0
    # All know the same spread. Once in a while the mean is taken anyway.
    if spread > 0.0025 or step % 6 == 5:
        take_mean()
        means += 1
    if step % EVERY == EVERY - 1:
        share_statistics()
        found.append(evaluate())
        if rank == 0:
            print(f"result step {step} loss {losses[-1]:.5f} right {float(seen[1]) / world:.3f} found {found[-1]:.3f} spread {spread:.5f}")
            if found[-1] == max(found):
                with tempfile.TemporaryFile() as f:
                    torch.save(dict(average=average.model.state_dict(), steps=fault.step), f)
check_fall(rank, losses)
if not max(found) > 1.4 / KINDS or not all(math.isfinite(x) for x in losses):
    print(f"rank {rank}: no better than chance: {found}", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {max(found):.4f} {means} {float(flatten_weights().norm()):.9g}")
dist.destroy_process_group()
