# SPDX-License-Identifier: Apache-2.0
"""A language model whose optimizer is divided by hand. Gradients are scattered bucket by bucket while the backward pass goes on, each rank
updates its part of each bucket, and parts are gathered for the next step. Sequences become longer once the loss has fallen."""
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
WIDTH, WORDS, LAYERS, BATCH, MICRO, EVERY = 8 * size, 24, 3, 8, 2, 6
CAPACITY = 40 * WIDTH
# Where a fault of values can be.
SITES = ("scattered", "gathered", "squares", "seen")
site = SITES[fault.pick % len(SITES)]
REDUCTION_FAULTS = ("less", "dtype", "op")


class Block(nn.Module):
    """Looks back with a convolution; a gate says how much of it is used."""

    def __init__(self, reach):
        super().__init__()
        self.reach, self.norm = reach, nn.LayerNorm(WIDTH)
        self.look, self.gate, self.out = nn.Conv1d(WIDTH, WIDTH, 2, dilation=reach), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        y = self.norm(x)
        back = self.look(F.pad(y.transpose(1, 2), (self.reach, 0))).transpose(1, 2)
        return x + self.out(F.gelu(back) * torch.sigmoid(self.gate(y)))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.blocks = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Block(2 ** k) for k in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.words(words)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Bucket:
    """Some weights in one flat tensor with a part for each rank; the last part is filled up. own: this rank's part, as the optimizer has it."""

    def __init__(self, index, weights):
        self.index, self.weights, self.missing, self.work = index, weights, set(), None
        self.sizes = [w.numel() for w in weights]
        self.part = (sum(self.sizes) + world - 1) // world
        self.padding = self.part * world - sum(self.sizes)
        self.own = nn.Parameter(self.get_parts(weights)[rank].clone())
        self.own.grad = torch.zeros_like(self.own)

    def get_parts(self, tensors):
        flat = torch.cat([t.detach().flatten() for t in tensors] + [torch.zeros(self.padding)])
        return [part.contiguous() for part in flat.split(self.part)]

    def scatter(self):
        """Starts once the last gradient is there."""
        parts = self.get_parts([w.grad for w in self.weights])
        call = None
        if site == "scattered":
            # A part that another rank is to have.
            fault.change_values(f"scattered{self.index}", parts[(rank + 1) % world], line() + 3)
            call = fault.change_call(parts[rank], line() + 2) if fault.name in ("skip", "extra") else None
        for _ in range(call.times if call else 1):
            self.work = dist.reduce_scatter(self.own.grad, parts, async_op=True)

    def finish(self):
        if self.work:
            self.work.wait()
        self.work = None
        self.own.grad.div_(world * MICRO)

    @torch.no_grad()
    def gather(self):
        """The weights of all parts."""
        sent, parts = self.own.detach().clone(), [torch.empty(self.part) for _ in range(world)]
        call = None
        if site == "gathered":
            fault.change_values(f"gathered{self.index}", sent, line() + 3)
            call = fault.change_call(sent, line() + 2) if fault.name in ("skip", "extra") else None
        for _ in range(call.times if call else 1):
            dist.all_gather(parts, sent)
        for w, new in zip(self.weights, torch.cat(parts)[:sum(self.sizes)].split(self.sizes)):
            w.copy_(new.view_as(w))


def make_buckets():
    """The last weights first, as backward has their gradients; a bucket is closed once it is large enough."""
    made, weights = [], []
    for w in reversed(list(model.parameters())):
        weights.append(w)
        if sum(x.numel() for x in weights) >= CAPACITY:
            made.append(Bucket(len(made), weights))
            weights = []
    return made + ([Bucket(len(made), weights)] if weights else [])


def watch_gradients():
    """A bucket leaves with its last gradient of the last micro batch."""
    owners = {w: b for b in buckets for w in b.weights}

    def handle_gradient(w):
        bucket = owners[w]
        bucket.missing.discard(w)
        if is_last and not bucket.missing:
            bucket.scatter()

    for w in owners:
        w.register_post_accumulate_grad_hook(handle_gradient)


def make_texts(chance, length):
    """The next word follows from the last one and whether that before it is even, most of the time."""
    words = torch.randint(0, WORDS, (BATCH, 2), generator=chance)
    for _ in range(length):
        following = (words[:, -1] * 3 + words[:, -2] % 2 + 5) % WORDS
        luck = torch.randint(0, WORDS, (BATCH,), generator=chance)
        words = torch.cat([words, torch.where(torch.rand(BATCH, generator=chance) < 0.9, following, luck).unsqueeze(1)], 1)
    return words[:, :-1], words[:, 1:]


def find_loss(texts):
    words, following = texts
    return F.cross_entropy(model(words).flatten(0, 1), following.flatten())


def clip():
    """By the norm of all parts of all ranks."""
    square = torch.stack([b.own.grad.pow(2).sum() for b in buckets])
    call = None
    if site == "squares":
        fault.change_values("squares", square, line() + 3)
        call = fault.change_call(square, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else square, op=call.op if call else dist.ReduceOp.SUM)
    norm = float(square.sum().sqrt())
    for b in buckets:
        b.own.grad.mul_(min(1.0, 1.0 / (norm + 1e-6)))
    return norm


@torch.no_grad()
def evaluate():
    """Each rank has texts of its own."""
    model.eval()
    loss = find_loss(make_texts(torch.Generator().manual_seed(70 + rank), 24)).view(1)
    model.train()
    dist.all_reduce(loss)
    return float(loss) / world


def save_parts():
    """Each rank writes its own part of the optimizer; rank 0 the weights too."""
    with tempfile.TemporaryFile() as f:
        torch.save(dict(optimizer=optimizer.state_dict(), model=model.state_dict() if rank == 0 else None), f)
    dist.barrier()


model = Language()
for p in model.parameters():
    dist.broadcast(p.data, 0)
buckets = make_buckets()
watch_gradients()
optimizer = torch.optim.Adam([b.own for b in buckets], lr=1.6e-2, betas=(0.9, 0.98))
chance = torch.Generator().manual_seed(400 + 31 * rank + int(OPTIONS.get("seed", 1)))
losses, held, length, is_last = [], [], 8, False
for step in range(steps):
    fault.step = step
    fault.go(line())
    model.zero_grad()
    total = torch.zeros(1)
    for micro in range(MICRO):
        is_last = micro == MICRO - 1
        for b in buckets:
            b.missing = set(b.weights)
        loss = find_loss(make_texts(chance, length))
        loss = fault.change_loss(loss, line())
        loss.backward()
        total += loss.detach() / MICRO
    for b in buckets:
        b.finish()
    norm = clip()
    optimizer.step()
    fault.step = step + 1
    for b in buckets:
        b.gather()
    seen = torch.stack([total[0], total[0] ** 2, torch.tensor(float(length * BATCH * MICRO)), torch.tensor(norm)])
    call = None
    if site == "seen" or site != "squares" and fault.name in REDUCTION_FAULTS:
        fault.change_values("seen", seen, line() + 3)
        call = fault.change_call(seen, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]) / world)
    if losses[-1] < losses[0] * 0.92 ** (length // 4 - 1) and length < 24:
        length += 4
    if step % EVERY == EVERY - 1:
        held.append(evaluate())
        if rank == 0:
            print(f"result step {step} loss {losses[-1]:.5f} held out {held[-1]:.5f} norm {norm:.4f} length {length}")
        if held[-1] == min(held):
            save_parts()
check_fall(rank, losses)
flat = torch.cat([p.detach().flatten() for p in model.parameters()])
others = [torch.empty_like(flat) for _ in range(world)]
dist.all_gather(others, flat)
if not all(torch.equal(flat, o) for o in others) or not math.isfinite(losses[-1]):
    print(f"rank {rank}: the weights are not those of the others, or no numbers", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {min(held):.9g} {length} {float(flat.norm()):.9g}")
dist.destroy_process_group()
