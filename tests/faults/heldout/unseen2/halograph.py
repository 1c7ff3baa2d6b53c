# SPDX-License-Identifier: Apache-2.0
"""A graph network on one large graph, whose vertices are divided over the ranks. Each layer asks other ranks for the features of the
neighbours there, of which a step uses a sample; gradients go back on the same way. The sample grows once the loss falls no longer."""
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
WIDTH, FEATURES, GROUPS, VERTICES, EVERY = 8 * size, 12, 6, 120 * size, 5
# Where a fault of values can be.
SITES = ("features", "gradients", "reduced", "seen")
site = SITES[fault.pick % len(SITES)]
# What only a reduction can have is in one of these two.
site_of_reduction = "seen" if site == "seen" else "reduced"
REDUCTION_FAULTS = ("less", "dtype", "op")


class Graph:
    """All ranks make the whole graph and keep the edges into their own vertices. wanted: other ranks' vertices, by owner."""

    def __init__(self, chance):
        self.labels = torch.randint(0, GROUPS, (VERTICES,), generator=chance)
        looks = torch.randn(GROUPS, FEATURES, generator=chance)
        self.features = 0.6 * looks[self.labels] + torch.randn(VERTICES, FEATURES, generator=chance)
        is_near = self.labels.unsqueeze(0) == self.labels.unsqueeze(1)
        odds = torch.where(is_near, 30.0 / VERTICES, 3.0 / VERTICES)
        pairs = torch.triu(torch.rand(VERTICES, VERTICES, generator=chance) < odds, 1)
        from_vertex, to_vertex = (pairs | pairs.t()).nonzero(as_tuple=True)
        self.is_trained = torch.rand(VERTICES, generator=chance) < 0.6
        # Ranks have other numbers of vertices, and mostly those of their own groups.
        likes = torch.rand(VERTICES, world, generator=chance) + 0.8 * (self.labels.unsqueeze(1) % world == torch.arange(world))
        owners = (likes + 0.1 * torch.arange(world) / world).argmax(1)
        self.own = (owners == rank).nonzero().flatten()
        is_own = owners[to_vertex] == rank
        self.sources, self.targets = from_vertex[is_own], to_vertex[is_own]
        self.wanted = [torch.unique(self.sources[owners[self.sources] == r]) if r != rank else torch.empty(0, dtype=torch.long)
                       for r in range(world)]
        self.places = torch.full((VERTICES,), -1)
        self.places[self.own] = torch.arange(len(self.own))


class Plan:
    """The vertices of other ranks that a step uses, and the own ones that others use."""

    def __init__(self, graph, share):
        chosen = [w[torch.rand(len(w), generator=chance) < share] for w in graph.wanted]
        self.takes = [len(c) for c in chosen]
        counts = torch.empty(world, dtype=torch.long)
        dist.all_to_all_single(counts, torch.tensor(self.takes))
        self.gives = counts.tolist()
        asked = torch.empty(sum(self.gives), dtype=torch.long)
        dist.all_to_all_single(asked, torch.cat(chosen), self.gives, self.takes)
        self.given = graph.places[asked]
        places = graph.places.clone()
        places[torch.cat(chosen)] = len(graph.own) + torch.arange(sum(self.takes))
        is_used = places[graph.sources] >= 0
        self.sources, self.targets = places[graph.sources[is_used]], graph.places[graph.targets[is_used]]
        # A sampled neighbour counts for those that were not.
        self.weights = torch.where(self.sources < len(graph.own), 1.0, 1 / share)
        self.degrees = torch.zeros(len(graph.own)).index_add_(0, self.targets, self.weights).clamp(min=1).unsqueeze(1)


def exchange(rows, out_sizes, in_sizes, name):
    rows = rows.detach().clone().contiguous()
    found = torch.zeros(sum(in_sizes), rows.shape[1])
    call = None
    if site == name and model.training:
        fault.change_values(name, rows, line() + 3)
        call = fault.change_call(rows, line() + 2) if fault.name in ("skip", "extra") else None
    for _ in range(call.times if call else 1):
        dist.all_to_all_single(found, rows, in_sizes, out_sizes)
    return found


class Exchange(torch.autograd.Function):
    """Rows to the ranks that asked for them."""

    @staticmethod
    def forward(ctx, rows, plan):
        ctx.plan = plan
        return exchange(rows, plan.gives, plan.takes, "features")

    @staticmethod
    def backward(ctx, grad):
        return exchange(grad, ctx.plan.takes, ctx.plan.gives, "gradients"), None


class Layer(nn.Module):
    def __init__(self, width_in, width_out):
        super().__init__()
        self.own, self.near = nn.Linear(width_in, width_out), nn.Linear(width_in, width_out, bias=False)
        self.norm = nn.LayerNorm(width_out)

    def forward(self, x, plan):
        everyone = torch.cat([x, Exchange.apply(x[plan.given], plan)])
        sums = torch.zeros_like(x).index_add(0, plan.targets, everyone[plan.sources] * plan.weights.unsqueeze(1))
        return self.norm(self.own(x) + self.near(sums / plan.degrees))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = Layer(FEATURES, WIDTH), Layer(WIDTH, WIDTH), Layer(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, GROUPS)

    def forward(self, x, plan):
        # Inputs need a gradient so that each layer's exchange has a backward one.
        x = F.relu(self.first(x.requires_grad_(), plan))
        x = x + F.relu(self.second(x, plan))
        return self.out(x + F.relu(self.third(x, plan)))


def reduce_gradients():
    """Sums over the ranks; a rank's loss is divided by the number of all trained vertices."""
    for name, layer in model.named_children():
        part = list(layer.parameters())
        flat = torch.cat([p.grad.flatten() for p in part])
        call = None
        if site_of_reduction == "reduced" and name != "out" and (site == "reduced" or fault.name in REDUCTION_FAULTS):
            fault.change_values(name, flat, line() + 3)
            call = fault.change_call(flat, line() + 2)
        for _ in range(call.times if call else 1):
            dist.all_reduce(call.data if call else flat, op=call.op if call else dist.ReduceOp.SUM)
        for p, grad in zip(part, flat.split([p.numel() for p in part])):
            p.grad.copy_(grad.view_as(p))


@torch.no_grad()
def evaluate():
    """With all neighbours, on the vertices that were not trained."""
    model.eval()
    right = model(features.clone(), Plan(graph, 1.0)).argmax(1) == labels
    model.train()
    counts = torch.stack([right[~is_trained].sum(), (~is_trained).sum()])
    dist.all_reduce(counts)
    return float(counts[0] / counts[1])


graph = Graph(torch.Generator().manual_seed(11 + int(OPTIONS.get("seed", 1))))
features, labels, is_trained = graph.features[graph.own], graph.labels[graph.own], graph.is_trained[graph.own]
trained_count = int(graph.is_trained.sum())
model = Network()
for p in model.parameters():
    dist.broadcast(p.data, 0)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.01)
chance = torch.Generator().manual_seed(800 + 23 * rank + int(OPTIONS.get("seed", 1)))
losses, found, share, rows = [], [], 0.3, 0
for step in range(steps):
    fault.step = step
    fault.go(line())
    plan = Plan(graph, share)
    rows += sum(plan.takes)
    scores = model(features.clone(), plan)
    loss = F.cross_entropy(scores[is_trained], labels[is_trained], reduction="sum") / trained_count
    loss = fault.change_loss(loss, line())
    optimizer.zero_grad()
    loss.backward()
    reduce_gradients()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    fault.part(model.second.near.weight, line())
    fault.step = step + 1
    right = (scores.argmax(1) == labels)[is_trained].sum()
    seen = torch.stack([loss.detach(), right / trained_count, torch.tensor(float(sum(plan.takes))), loss.detach() ** 2])
    call = None
    if site == "seen":
        fault.change_values("seen", seen, line() + 3)
        call = fault.change_call(seen, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]))
    if len(losses) > 4 and losses[-1] > 0.97 * min(losses[-5:-1]):
        share = min(1.0, share * 1.5)
    if step % EVERY == EVERY - 1:
        found.append(evaluate())
        if rank == 0:
            print(f"result step {step} loss {losses[-1]:.5f} right {float(seen[1]):.3f} held out {found[-1]:.3f} share {share:.3f}")
        if rank == 0 and found[-1] == max(found):
            with tempfile.TemporaryFile() as f:
                torch.save(dict(model=model.state_dict(), optimizer=optimizer.state_dict()), f)
check_fall(rank, losses)
if not max(found) > 2 / GROUPS or not all(math.isfinite(x) for x in losses):
    print(f"rank {rank}: no better than chance: {found}", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {max(found):.4f} {rows} {float(norm):.9g}")
dist.destroy_process_group()
