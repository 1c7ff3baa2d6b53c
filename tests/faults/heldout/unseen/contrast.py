# SPDX-License-Identifier: Apache-2.0
"""Pictures and their captions, each by a tower of its own, learn to find each other among those of all ranks and a queue of older ones.
A teacher follows the towers slowly and makes what is in the queue. Gradients are reduced without DDP, tower by tower."""
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
WIDTH, PIXELS, WORDS, LONGEST, BATCH, QUEUE, TOPICS = 8 * size, 24, 40, 7, 12, 96, 16
# Where a fault of values can be.
SITES = ("pictures", "captions", "reduced", "seen")
site = SITES[fault.pick % len(SITES)]


class Pictures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(PIXELS, 4 * WIDTH), nn.GELU(), nn.LayerNorm(4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, pictures):
        return F.normalize(self.layers(pictures), dim=-1)


class Captions(nn.Module):
    """Word 0 is no word: captions differ in length."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, 2 * WIDTH, padding_idx=0), nn.Parameter(torch.zeros(LONGEST, 2 * WIDTH))
        self.mix, self.out = nn.Linear(2 * WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, captions):
        is_word = (captions > 0).unsqueeze(-1)
        x = torch.tanh(self.mix(self.words(captions) + self.places[:captions.shape[1]])) * is_word
        return F.normalize(self.out(x.sum(1) / is_word.sum(1)), dim=-1)


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.pictures, self.captions, self.heat = Pictures(), Captions(), nn.Parameter(torch.tensor(math.log(5.0)))

    def forward(self, pictures, captions):
        return self.pictures(pictures), self.captions(captions)


class Queue:
    """The teacher's features of the last batches of all ranks, the same on each rank; empty at first."""

    def __init__(self):
        self.features, self.count, self.next = torch.zeros(2, QUEUE, WIDTH), 0, 0

    def add(self, features):
        many = features.shape[1]
        places = torch.arange(self.next, self.next + many) % QUEUE
        self.features[:, places] = features
        self.next, self.count = (self.next + many) % QUEUE, min(QUEUE, self.count + many)

    def get(self, tower):
        return self.features[tower, :self.count]


def make_pairs(chance, many):
    """A picture is its topic with noise; so is a caption, whose length is its own."""
    topics = torch.randint(0, TOPICS, (many,), generator=chance)
    pictures = looks[topics] + 0.5 * torch.randn(many, PIXELS, generator=chance)
    captions = 1 + (topics.unsqueeze(1) * 2 + torch.randint(0, 6, (many, LONGEST), generator=chance)) % (WORDS - 1)
    lengths = torch.randint(3, LONGEST + 1, (many, 1), generator=chance)
    return pictures, torch.where(torch.arange(LONGEST) < lengths, captions, 0)[:, :int(lengths.max())], topics


def gather_features(own, name):
    """Those of all ranks; only the own ones have a gradient."""
    sent = own.detach().clone()
    call = None
    if site == name and model.training:
        fault.change_values(name, sent, line() + 4)
        call = fault.change_call(sent, line() + 3) if fault.name in ("skip", "extra") else None
    everyone = [torch.empty_like(sent) for _ in range(world)]
    for _ in range(call.times if call else 1):
        dist.all_gather(everyone, sent)
    everyone[rank] = own
    return torch.cat(everyone)


def find_loss(pictures, captions):
    """Both ways; older features are wrong answers only."""
    every_picture, every_caption = gather_features(pictures, "pictures"), gather_features(captions, "captions")
    heat = model.heat.clamp(max=math.log(30)).exp()
    own = rank * len(pictures) + torch.arange(len(pictures))
    to_captions = heat * pictures @ torch.cat([every_caption, queue.get(1)]).t()
    to_pictures = heat * captions @ torch.cat([every_picture, queue.get(0)]).t()
    found = (to_captions[:, :len(every_caption)].argmax(1) == own).float().mean()
    return (F.cross_entropy(to_captions, own) + F.cross_entropy(to_pictures, own)) / 2, found


def reduce_gradients():
    """Means over the ranks, a call for each tower and one for the rest."""
    for name, part in groups.items():
        flat = torch.cat([p.grad.flatten() for p in part])
        call = None
        if site == "reduced" and name != "heat":
            fault.change_values(name, flat, line() + 3)
            call = fault.change_call(flat, line() + 2)
        for _ in range(call.times if call else 1):
            dist.all_reduce(call.data if call else flat, op=call.op if call else dist.ReduceOp.SUM)
        for p, grad in zip(part, flat.split([p.numel() for p in part])):
            p.grad.copy_(grad.view_as(p) / world)


@torch.no_grad()
def teach(step):
    """The teacher comes nearer; what it makes of the batch is for the next steps."""
    keep = 0.98 - 0.3 * math.exp(-step / 4)
    for slow, p in zip(teacher.parameters(), model.parameters()):
        slow.lerp_(p, 1 - keep)
    made = torch.stack(teacher(pictures, captions))
    everyone = [torch.empty_like(made) for _ in range(world)]
    dist.all_gather(everyone, made)
    queue.add(torch.cat(everyone, 1))


@torch.no_grad()
def evaluate():
    """How often a held-out picture's nearest caption is of its topic; pictures are divided over the ranks."""
    pictures, captions, topics = make_pairs(torch.Generator().manual_seed(12), 50)
    model.eval()
    nearest = (model.pictures(pictures[rank::world]) @ model.captions(captions).t()).argmax(1)
    model.train()
    counts = torch.stack([(topics[nearest] == topics[rank::world]).sum(), torch.tensor(len(nearest))])
    dist.all_reduce(counts)
    return float(counts[0] / counts[1])


looks = 1.5 * torch.randn(TOPICS, PIXELS, generator=torch.Generator().manual_seed(6))
model, teacher = Towers(), Towers().requires_grad_(False)
teacher.load_state_dict(model.state_dict())
groups = dict(pictures=list(model.pictures.parameters()), captions=list(model.captions.parameters()), heat=[model.heat])
optimizer = torch.optim.AdamW([dict(params=groups["pictures"], weight_decay=0.05), dict(params=groups["captions"], weight_decay=0.05),
                               dict(params=groups["heat"], weight_decay=0.0, lr=5e-3)], lr=6e-3)
queue = Queue()
data = torch.Generator().manual_seed(600 + 17 * rank + int(OPTIONS.get("seed", 1)))
losses, hits, best = [], [], 0.0
for step in range(steps):
    fault.step = step
    fault.go(line())
    pictures, captions, _ = make_pairs(data, BATCH)
    loss, found = find_loss(*model(pictures, captions))
    loss = fault.change_loss(loss, line())
    optimizer.zero_grad()
    loss.backward()
    reduce_gradients()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    fault.part(model.captions.out.weight, line())
    fault.step = step + 1
    teach(step)
    # Losses of other numbers of wrong answers cannot be compared.
    seen = torch.stack([loss.detach() / math.log(BATCH * world + queue.count), found, norm, model.heat.detach(), loss.detach() ** 2])
    call = None
    if site == "seen" or fault.name in ("less", "dtype", "op") and site != "reduced":
        fault.change_values("seen", seen, line() + 3)
        call = fault.change_call(seen, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]) / world)
    if step % 5 == 4:
        hits.append(evaluate())
        if rank == 0:
            print(f"result step {step} loss {losses[-1]:.5f} found {float(seen[1]) / world:.3f} held out {hits[-1]:.3f}")
        if hits[-1] > best:
            best = hits[-1]
            if rank == 0:
                with tempfile.TemporaryFile() as f:
                    torch.save(dict(model=model.state_dict(), teacher=teacher.state_dict(), queue=queue.features), f)
            dist.barrier()
check_fall(rank, losses)
if not best > 3 / TOPICS:
    print(f"rank {rank}: no better than chance: {hits}", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {best:.4f} {float(model.heat.detach().exp()):.9g} {float(queue.features.sum()):.9g}")
dist.destroy_process_group()
