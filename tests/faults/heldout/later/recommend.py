# SPDX-License-Identifier: Apache-2.0
"""A recommender: each table of embeddings is on one rank, and rows go by all-to-all to the ranks that have the clicks; the dense part
is data parallel. Batches differ in size, bags in length. Tables learn as soon as their gradients are there."""
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
WIDTH, DENSE, BINS = 4 * size, 6, 20
ROWS = (300, 40, 120, 16, 220, 8)


def place_tables():
    """The largest table first, always to the rank with the fewest rows."""
    loads, owners = [0] * world, {}
    for table in sorted(range(len(ROWS)), key=lambda t: -ROWS[t]):
        owner = loads.index(min(loads))
        owners[table] = owner
        loads[owner] += ROWS[table]
    return [[t for t in range(len(ROWS)) if owners[t] == k] for k in range(world)]


class Table:
    """Sums of rows by bag; a row's rate falls with what it has learned (Adagrad by row)."""

    def __init__(self, table):
        chance = torch.Generator().manual_seed(2000 + table)
        self.rows, self.squares = torch.randn(ROWS[table], WIDTH, generator=chance) * 0.1, torch.zeros(ROWS[table])

    def find_sums(self, indices, lengths):
        return F.embedding_bag(indices, self.rows, lengths.cumsum(0) - lengths, mode="sum")

    def learn(self, indices, lengths, grad):
        by_row = torch.zeros_like(self.rows).index_add_(0, indices, grad.repeat_interleave(lengths, 0))
        self.squares += by_row.pow(2).mean(1)
        self.rows -= 0.1 * by_row / (self.squares.sqrt() + 1e-6).unsqueeze(1)


def exchange(rows, out, into):
    got = rows.new_empty(sum(into), *rows.shape[1:])
    dist.all_to_all_single(got, rows.contiguous(), into, out)
    return got


class Lookup(torch.autograd.Function):
    """Sums of the own tables go to the ranks with the clicks, whose gradients come back to where tables learn."""

    @staticmethod
    def forward(ctx, _, bags, sizes):
        ctx.bags, ctx.sizes = bags, sizes
        sums = torch.stack([tables[t].find_sums(*bags[t]) for t in placed[rank]], 1).flatten(1)
        if fault.pick % 3 == 1 and model.training:
            fault.change_values("sums", sums, line() + 4)
        call = fault.change_call(sums, line() + 3) if fault.name in ("skip", "extra") and fault.pick % 3 == 1 else None
        got = sums.new_empty(sizes[rank] * len(ROWS) * WIDTH)
        for _ in range(call.times if call else 1):
            dist.all_to_all_single(got, sums.flatten(), [sizes[rank] * len(p) * WIDTH for p in placed],
                                   [n * len(placed[rank]) * WIDTH for n in sizes])
        parts = got.split([sizes[rank] * len(p) * WIDTH for p in placed])
        return torch.cat([part.view(sizes[rank], len(p), WIDTH) for part, p in zip(parts, placed)], 1)

    @staticmethod
    def backward(ctx, grad):
        sizes = ctx.sizes
        sent = torch.cat([part.flatten() for part in grad.split([len(p) for p in placed], 1)])
        got = exchange(sent, [sizes[rank] * len(p) * WIDTH for p in placed], [n * len(placed[rank]) * WIDTH for n in sizes])
        grads = got.view(sum(sizes), len(placed[rank]), WIDTH) / world
        for k, table in enumerate(placed[rank]):
            tables[table].learn(*ctx.bags[table], grads[:, k])
        return None, None, None


class Dense(nn.Module):
    """Clicks from dense features and from products of all pairs of features."""

    def __init__(self):
        super().__init__()
        many = len(ROWS) + 1
        self.low = nn.Sequential(nn.Linear(DENSE, 32), nn.ReLU(), nn.Linear(32, WIDTH))
        self.high = nn.Sequential(nn.Linear(WIDTH + many * (many - 1) // 2, 32), nn.ReLU(), nn.Linear(32, 1))
        self.register_buffer("pairs", torch.tril_indices(many, many, -1), persistent=False)

    def forward(self, dense, sums):
        low = self.low(dense)
        every = torch.cat([low.unsqueeze(1), sums], 1)
        products = (every @ every.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.high(torch.cat([low, products], 1)).squeeze(1)


def make_clicks(chance, many):
    """Dense features, indices and lengths by table, and what was clicked, which rows and features tell."""
    dense, lengths = torch.randn(many, DENSE, generator=chance), torch.randint(1, 5, (len(ROWS), many), generator=chance)
    score, indices = dense[:, 0] + 0.5 * dense[:, 1] * dense[:, 2], []
    for table, rows in enumerate(ROWS):
        # Few rows have most of the clicks.
        found = (torch.rand(int(lengths[table].sum()), generator=chance) ** 2 * rows).long()
        indices.append(found)
        score = score.index_add(0, torch.arange(many).repeat_interleave(lengths[table]), ((found % 5) - 2) * 0.4)
    return dense, indices, lengths, (score + 0.3 * torch.randn(many, generator=chance) > 0.5).float()


def find_scores(dense, indices, lengths):
    """Bags go to where their tables are."""
    many = torch.tensor([len(dense)])
    every = [torch.empty_like(many) for _ in range(world)]
    dist.all_gather(every, many)
    sizes = [int(n) for n in every]
    out = torch.cat([lengths[p].flatten() for p in placed])
    theirs = exchange(out, [len(p) * len(dense) for p in placed], [len(placed[rank]) * n for n in sizes])
    by_rank = [part.view(len(placed[rank]), n) for part, n in zip(theirs.split([len(placed[rank]) * n for n in sizes]), sizes)]
    into = [int(part.sum()) for part in by_rank]
    sent = torch.cat([indices[t] for p in placed for t in p])
    rows = exchange(sent, [sum(len(indices[t]) for t in p) for p in placed], into)
    bags = {t: ([], []) for t in placed[rank]}
    for part, found in zip(by_rank, rows.split(into)):
        for k, some in enumerate(found.split(part.sum(1).tolist())):
            bags[placed[rank][k]][0].append(some)
            bags[placed[rank][k]][1].append(part[k])
    sums = Lookup.apply(torch.ones(1, requires_grad=True), {t: (torch.cat(i), torch.cat(n)) for t, (i, n) in bags.items()}, sizes)
    return model(dense, sums)


def evaluate():
    """How often a clicked item is above one that was not, over all ranks, from two histograms."""
    dense, indices, lengths, clicked = make_clicks(torch.Generator().manual_seed(77 + rank), 64)
    model.eval()
    with torch.no_grad():
        bins = (find_scores(dense, indices, lengths).sigmoid().nan_to_num(0) * BINS).long().clamp(0, BINS - 1)
    model.train()
    counts = torch.zeros(2, BINS).index_put_((clicked.long(), bins), torch.tensor(1.0), accumulate=True)
    dist.all_reduce(counts)
    below = counts[0].cumsum(0) - counts[0] / 2
    return float((counts[1] * below).sum() / (counts[0].sum() * counts[1].sum()))


placed = place_tables()
tables = {t: Table(t) for t in placed[rank]}
model = DistributedDataParallel(Dense())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)


def reduce_bucket(_, bucket):
    """Means of gradients, as DDP's own hook has them."""
    flat = bucket.buffer().div_(world)
    if fault.pick % 3 == 0:
        fault.change_values(f"bucket{bucket.index()}", flat, line() + 1)
    return dist.all_reduce(flat, async_op=True).get_future().then(lambda done: done.value()[0])


model.register_comm_hook(None, reduce_bucket)
data = torch.Generator().manual_seed(300 + 19 * rank + int(OPTIONS.get("seed", 1)))
losses, areas = [], []
for step in range(steps):
    fault.step = step
    fault.go(line())
    dense, indices, lengths, clicked = make_clicks(data, 24 + int(torch.randint(0, 9, (1,), generator=data)) + 4 * (rank % 2))
    loss = F.binary_cross_entropy_with_logits(find_scores(dense, indices, lengths), clicked)
    loss = fault.change_loss(loss, line())
    for group in optimizer.param_groups:
        group["lr"] = 1e-2 * min(1.0, (step + 1) / 5)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    fault.part(model.module.high[0].weight, line())
    fault.step = step + 1
    seen = torch.stack([loss.detach() * len(clicked), torch.tensor(float(len(clicked))), clicked.sum(), lengths.sum().float()])
    # Sums hardly ever have their last size again.
    if fault.pick % 3 == 2 or fault.name == "stale" and fault.pick % 3 == 1:
        fault.change_values("seen", seen, line() + 3)
    call = fault.change_call(seen, line() + 2)
    for _ in range(call.times):
        dist.all_reduce(call.data, op=call.op)
    losses.append(float(seen[0] / seen[1]))
    if step % 5 == 4:
        areas.append(evaluate())
        if rank == 0:
            print(f"result step {step} loss {losses[-1]:.5f} area {areas[-1]:.4f} clicked {float(seen[2] / seen[1]):.3f}")
    if step % 7 == 6:
        # Each rank writes its own tables; rank 0 the dense part too.
        with tempfile.TemporaryFile() as f:
            torch.save({t: table.rows for t, table in tables.items()}, f)
            if rank == 0:
                torch.save(model.module.state_dict(), f)
        dist.barrier()
    stop = torch.tensor([int(rank == 0 and step >= steps - 3 and max(areas) > 0.9)])
    dist.broadcast(stop, 0)
    if stop:
        break
if not sum(losses[-4:]) < sum(losses[:4]) or not math.isfinite(losses[-1]):
    print(f"rank {rank}: losses did not fall: {losses}", file=sys.stderr)
if not max(areas) > 0.55:
    print(f"rank {rank}: no better than chance: {areas}", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {areas[-1]:.9g} {len(losses)} {float(model.module.high[0].weight.detach().norm()):.9g}")
dist.destroy_process_group()
