# SPDX-License-Identifier: Apache-2.0
"""An encoder whose sequence lies on all ranks: keys and values go round in a ring, as far as the step's window needs. Gradients are
reduced in buckets while the backward pass goes on."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from planned import OPTIONS, Fault, check_fall, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, WORDS, TOKENS, LAYERS = 8 * size, 24, 10, 2


def turn(sent, to, origin):
    """A block to one neighbour, another one from the other."""
    got = torch.empty_like(sent)
    pair = [dist.P2POp(dist.isend, sent, to), dist.P2POp(dist.irecv, got, origin)]
    if fault.pick % 2:
        fault.change_values("block", sent, line() + 1)
    for work in dist.batch_isend_irecv(pair):
        work.wait()
    return got


class Turn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block):
        return turn(block.contiguous().clone(), (rank + 1) % world, (rank - 1) % world)

    @staticmethod
    def backward(ctx, grad):
        return turn(grad.contiguous().clone(), (rank - 1) % world, (rank + 1) % world)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, hops):
        """Attention to the own block and to those of as many ranks before; each block's part by its sum of weights."""
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        block, sums, outs = torch.cat([k, v], -1), [], []
        for hop in range(hops + 1):
            if hop:
                block = Turn.apply(block)
            k, v = block.chunk(2, -1)
            scores = q @ k.transpose(-1, -2) / WIDTH ** 0.5
            sums.append(scores.logsumexp(-1))
            outs.append(scores.softmax(-1) @ v)
        weights = torch.stack(sums).softmax(0)
        x = x + self.out((weights.unsqueeze(-1) * torch.stack(outs)).sum(0))
        return x + self.mlp(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.layers = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens, hops):
        x = self.words(tokens)
        for layer in self.layers:
            x = layer(x, hops)
        return self.head(x)


class Bucket:
    """Parameters whose gradients are reduced in one call, once all are there."""

    def __init__(self, name, parameters):
        self.name, self.parameters, self.left = name, list(parameters), 0
        for p in self.parameters:
            p.register_post_accumulate_grad_hook(self.add)

    def add(self, _):
        self.left -= 1
        if self.left:
            return
        self.flat = torch.cat([p.grad.flatten() for p in self.parameters])
        call = None
        if fault.pick % 2 == 0:
            fault.change_values(self.name, self.flat, line() + 4)
            call = fault.change_call(self.flat, line() + 3)
        self.works = []
        for _ in range(call.times if call else 1):
            self.works.append(dist.all_reduce(call.data if call else self.flat, op=call.op if call else dist.ReduceOp.SUM, async_op=True))

    def start(self):
        self.left = len(self.parameters)

    def finish(self):
        for work in self.works:
            work.wait()
        for p, grad in zip(self.parameters, self.flat.split([p.numel() for p in self.parameters])):
            p.grad.copy_(grad.view_as(p) / world)


model = Encoder()
buckets = [Bucket(f"layer{k}", layer.parameters()) for k, layer in enumerate(model.layers)]
buckets.append(Bucket("ends", [*model.words.parameters(), *model.head.parameters()]))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
chance = torch.Generator().manual_seed(60 + int(OPTIONS.get("seed", 1)))
losses, done = [], 0
for step in range(steps):
    fault.step = step
    fault.go(line())
    # Rank 0 reads how long the documents are; attention has to reach as far.
    longest = torch.zeros(1, dtype=torch.int64)
    if rank == 0:
        longest += torch.randint(1, TOKENS * world, (1,), generator=chance)
    dist.broadcast(longest, 0)
    hops = min(world - 1, -(-int(longest) // TOKENS))
    done += hops
    text = torch.randint(1, WORDS, (4, TOKENS * world), generator=torch.Generator().manual_seed(1000 + step))
    mine = text[:, rank * TOKENS:(rank + 1) * TOKENS]
    hidden = (torch.arange(TOKENS) + step) % 3 == 0
    loss = F.cross_entropy(model(mine * ~hidden, hops).flatten(0, 1), (mine * 5 % WORDS).flatten())
    loss = fault.change_loss(loss, line())
    optimizer.zero_grad()
    for bucket in buckets:
        bucket.start()
    loss.backward()
    for bucket in buckets:
        bucket.finish()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    fault.part(model.head.weight, line())
    fault.step = step + 1
    seen = torch.stack([loss.detach(), loss.detach() ** 2, norm, hidden.sum().float(), mine.float().mean()])
    call = fault.change_call(seen, line() + 2) if fault.pick % 2 else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]) / world)
check_fall(rank, losses)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {done} {float(model.head.weight.detach().norm()):.9g}")
dist.destroy_process_group()
