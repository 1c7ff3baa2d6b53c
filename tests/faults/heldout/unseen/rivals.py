# SPDX-License-Identifier: Apache-2.0
"""A generator and a critic, each data parallel with an optimizer of its own and gradients of several micro batches. The critic is trained
first, again if it loses, then the generator, twice if it cannot follow; every fourth time the critic's slope is punished."""
import contextlib
import math
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from planned import OPTIONS, Fault, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, KINDS, LUCK, MICRO, BATCH, PUNISHED = 16 * size, 8, 6, 2, 24, 4
# Where a fault of values can be; steps are those of the critic's optimizer.
SITES = ("critic", "generator", "counts")
site = SITES[fault.pick % len(SITES)]


class Generator(nn.Module):
    """Points of a kind that is asked for."""

    def __init__(self):
        super().__init__()
        self.kinds = nn.Embedding(KINDS, LUCK)
        self.layers = nn.Sequential(nn.Linear(2 * LUCK, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU(), nn.Linear(WIDTH, 2))

    def forward(self, luck, kinds):
        return self.layers(torch.cat([luck, self.kinds(kinds)], 1))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH), nn.SiLU())
        self.kinds, self.out = nn.Embedding(KINDS, WIDTH), nn.Linear(WIDTH, 1)

    def forward(self, points, kinds):
        x = self.layers(points)
        return self.out(x).squeeze(1) + (x * self.kinds(kinds)).sum(1) / math.sqrt(WIDTH)


def get_centres(kinds):
    angle = kinds * (2 * math.pi / KINDS)
    return 1.5 * torch.stack([angle.cos(), angle.sin()], 1)


def read_points(many):
    """Ranks have other shares of the kinds."""
    kinds = ((torch.rand(many, generator=data) ** (1 + 0.5 * rank)) * KINDS).long()
    return get_centres(kinds) + 0.15 * torch.randn(many, 2, generator=data), kinds


def draw_luck(many):
    return torch.randn(many, LUCK, generator=data)


def reduce_bucket(name, bucket):
    """Means of gradients, as DDP has them."""
    flat = bucket.buffer().div_(world)
    call = None
    if site == name:
        fault.change_values(f"{name}{bucket.index()}", flat, line() + 4)
        call = fault.change_call(flat, line() + 3) if fault.name in ("extra", "dtype", "op") else None
    work = None
    for _ in range(call.times if call else 1):
        work = dist.all_reduce(call.data if call else flat, op=call.op if call else dist.ReduceOp.SUM, async_op=True)
    return work.get_future().then(lambda _: flat)


def count_step(*_):
    fault.step += 1


def train_critic(turn):
    """Returns how often it was right."""
    right = torch.zeros(1)
    optimizers[1].zero_grad()
    for micro in range(MICRO):
        points, kinds = read_points(BATCH)
        with torch.no_grad():
            made = generator.module(draw_luck(BATCH), kinds)
        is_punished = turn % PUNISHED == 0 and micro == MICRO - 1
        with critic.no_sync() if micro < MICRO - 1 else contextlib.nullcontext():
            scores = critic(torch.cat([points, made]), kinds.repeat(2))
            loss = (F.softplus(-scores[:BATCH]).mean() + F.softplus(scores[BATCH:]).mean()) / MICRO
            if is_punished:
                inputs = points.clone().requires_grad_()
                slope, = torch.autograd.grad(critic.module(inputs, kinds).sum(), inputs, create_graph=True)
                loss = loss + 0.05 * PUNISHED * slope.pow(2).sum(1).mean()
            loss = fault.change_loss(loss, line())
            loss.backward()
        right += ((scores[:BATCH] > 0).float().mean() + (scores[BATCH:] < 0).float().mean()).detach() / (2 * MICRO)
    optimizers[1].step()
    fault.part(critic.module.out.weight, line())
    return loss.detach(), right


def train_generator():
    optimizers[0].zero_grad()
    # The critic's own gradients are not wanted.
    critic.module.requires_grad_(False)
    for micro in range(MICRO):
        kinds = torch.randint(0, KINDS, (BATCH,), generator=data)
        with generator.no_sync() if micro < MICRO - 1 else contextlib.nullcontext():
            loss = F.softplus(-critic.module(generator(draw_luck(BATCH), kinds), kinds)).mean() / MICRO
            loss.backward()
    critic.module.requires_grad_(True)
    norm = nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
    optimizers[0].step()
    with torch.no_grad():
        for average, p in zip(averages.parameters(), generator.module.parameters()):
            average.lerp_(p, 0.3)
    return loss.detach(), norm


def evaluate():
    """How many points of each kind are where they should be, of the averaged generator's, over all ranks."""
    kinds = torch.arange(KINDS).repeat_interleave(6)
    luck = torch.randn(len(kinds), LUCK, generator=torch.Generator().manual_seed(30 + rank))
    with torch.no_grad():
        off = (averages(luck, kinds) - get_centres(kinds)).norm(dim=1)
    counts = torch.zeros(KINDS + 1).index_add_(0, kinds, (off < 0.6).float())
    counts[KINDS] = len(kinds)
    dist.all_reduce(counts)
    return counts


generator, averages = DistributedDataParallel(Generator()), Generator().requires_grad_(False)
averages.load_state_dict(generator.module.state_dict())
critic = DistributedDataParallel(Critic(), bucket_cap_mb=0.02)
generator.register_comm_hook("generator", reduce_bucket)
critic.register_comm_hook("critic", reduce_bucket)
optimizers = [torch.optim.Adam(generator.parameters(), lr=2e-2, betas=(0.5, 0.99)),
              torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.99))]
optimizers[1].register_step_post_hook(count_step)
data = torch.Generator().manual_seed(200 + 29 * rank + int(OPTIONS.get("seed", 1)))
found, doubles, repeats, again, turn, looked = [], 0, 0, 0, 0, 0
while fault.step < steps:
    fault.go(line())
    critic_loss, right = train_critic(turn)
    seen = torch.stack([right[0], critic_loss, right[0] ** 2, torch.tensor(1.0)])
    if site == "counts":
        fault.change_values("counts", seen, line() + 3)
    call = fault.change_call(seen, line() + 2) if site == "counts" or fault.name in ("skip", "less") else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    right = float(seen[0]) / world
    turn += 1
    if right < 0.6 and again < 2:
        again, repeats = again + 1, repeats + 1
        continue
    again = 0
    passes = 2 if right > 0.75 else 1
    for _ in range(passes):
        generator_loss, norm = train_generator()
    doubles += passes - 1
    if turn - looked >= 5:
        looked, counts = turn, evaluate()
        found.append(float(counts[:KINDS].sum() / counts[KINDS]))
        if rank == 0:
            print(f"result step {fault.step} critic {float(critic_loss):.5f} generator {float(generator_loss):.5f} norm {float(norm):.4f} "
                  f"right {right:.3f} found {found[-1]:.3f}")
            with tempfile.TemporaryFile() as f:
                torch.save(dict(generator=generator.module.state_dict(), averages=averages.state_dict()), f)
        if found[-1] < max(found) / 2:
            for group in optimizers[0].param_groups:
                group["lr"] *= 0.7
if not found or not all(math.isfinite(float(p.detach().sum())) for p in generator.parameters()):
    print(f"rank {rank}: no generator: {found}", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {right:.9g} {found[-1]:.4f} {doubles} {repeats} {turn} {float(critic.module.out.weight.detach().norm()):.9g}")
dist.destroy_process_group()
