# SPDX-License-Identifier: Apache-2.0
"""A pipeline in which each rank takes one micro batch forward and one back in turn, as soon as it has as many as there are ranks after
it. Messages are in flight while it computes, lengths change, and the backward pass computes activations a second time."""
import math
import tempfile

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from planned import OPTIONS, Fault, check_fall, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, WORDS, MICRO, BATCH, HEADS = 16 * size, 28, 6, 4, 2
is_first, is_last = rank == 0, rank == world - 1
# Where a fault of values can be: what this rank sends.
SITES = (["seen"] + ["activations"] * (not is_last) + ["gradients"] * (not is_first))
site = SITES[fault.pick % len(SITES)]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.mlp(x)


class Stage(nn.Module):
    """The first rank has the words, the last one the head; those between have two blocks."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH) if is_first else nn.Identity()
        self.blocks = nn.ModuleList(Block() for _ in range(1 if is_first or is_last else 2))
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)) if is_last else nn.Identity()

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.training else block(x)
        return self.head(x)


class Pipe:
    """One pass of micro batches. Receives are posted one micro batch ahead, sends are waited for at the end."""

    def __init__(self, texts):
        self.texts, self.sends, self.inputs, self.outputs, self.grads = texts, [], {}, {}, {}
        self.words = sum(text.numel() - len(text) for text in texts)
        self.loss = torch.zeros(1)

    def post_input(self, k):
        if not is_first and k < len(self.texts):
            room = torch.empty(BATCH, self.texts[k].shape[1] - 1, WIDTH)
            self.inputs[k] = room, dist.irecv(room, rank - 1, tag=1)

    def send_output(self, y):
        sent, times = y.detach().clone(), 1
        if site == "activations" and stage.training:
            fault.change_values("activations", sent, line() + 3)
            times = fault.change_call(sent, line() + 2).times if fault.name == "skip" else 1
        for _ in range(times):
            self.sends.append((dist.isend(sent, rank + 1, tag=1), sent))

    def send_gradient(self, grad):
        sent, times = grad.clone(), 1
        if site == "gradients":
            fault.change_values("gradients", sent, line() + 3)
            times = fault.change_call(sent, line() + 2).times if fault.name == "skip" else 1
        for _ in range(times):
            self.sends.append((dist.isend(sent, rank - 1, tag=2), sent))

    def go_forward(self, k):
        x = self.texts[k][:, :-1]
        if not is_first:
            x, work = self.inputs[k]
            work.wait()
            x.requires_grad_(stage.training)
        self.post_input(k + 1)
        y = stage(x)
        if is_last:
            y = F.cross_entropy(y.flatten(0, 1), self.texts[k][:, 1:].flatten(), reduction="sum") / self.words
            self.loss += y.detach()
        else:
            self.send_output(y)
            if stage.training:
                room = torch.empty_like(y)
                self.grads[k] = room, dist.irecv(room, rank + 1, tag=2)
        self.inputs[k], self.outputs[k] = x, y

    def go_back(self, k):
        x, y = self.inputs.pop(k), self.outputs.pop(k)
        if is_last:
            y.backward()
        else:
            grad, work = self.grads.pop(k)
            work.wait()
            y.backward(grad)
        if not is_first:
            self.send_gradient(x.grad)

    def run(self):
        ahead = world - rank - 1 if stage.training else len(self.texts)
        self.post_input(0)
        for k in range(len(self.texts)):
            self.go_forward(k)
            if k >= ahead:
                self.go_back(k - ahead)
        for k in range(max(0, len(self.texts) - ahead), len(self.texts) if stage.training else 0):
            self.go_back(k)
        for work, _ in self.sends:
            work.wait()
        return self.loss


def make_texts(chance, many, longest):
    """All ranks read the same; sequences of a micro batch have one length."""
    found = []
    for _ in range(many):
        length = int(torch.randint(longest // 2, longest + 1, (1,), generator=chance))
        text = torch.randint(0, WORDS, (BATCH, length + 1), generator=chance)
        for k in range(length):
            is_usual = torch.rand(BATCH, generator=chance) < 0.9
            text[:, k + 1] = torch.where(is_usual, (text[:, k] * 3 + 2) % WORDS, text[:, k + 1])
        found.append(text)
    return found


torch.manual_seed(60 + rank)
stage = Stage()
optimizer = torch.optim.AdamW(stage.parameters(), lr=1e-2, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda k: min(1.0, (k + 1) / 5) * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * k / (steps + 2)))))
averages = [p.detach().clone() for p in stage.parameters()]
data = torch.Generator().manual_seed(40 + int(OPTIONS.get("seed", 1)))
losses, held = [], []
for step in range(steps):
    fault.step = step
    fault.go(line())
    optimizer.zero_grad()
    # The first steps have fewer micro batches.
    loss = Pipe(make_texts(data, MICRO if step > 2 else MICRO // 2 + 1, 8 if step < 4 else 12)).run()
    squares = sum(p.grad.norm() ** 2 for p in stage.parameters())
    seen = torch.stack([squares, loss[0], squares.sqrt() / (step + 1), torch.tensor(float(len(averages)))])
    call = None
    if site == "seen" or fault.name in ("extra", "less", "dtype", "op"):
        fault.change_values("seen", seen, line() + 3)
        call = fault.change_call(seen, line() + 2)
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    for p in stage.parameters():
        p.grad *= min(1.0, 1.0 / (float(seen[0]) ** 0.5 + 1e-6))
    optimizer.step()
    schedule.step()
    fault.step = step + 1
    with torch.no_grad():
        for average, p in zip(averages, stage.parameters()):
            average.lerp_(p, 0.1)
    losses.append(float(seen[1]))
    if step % 6 == 5:
        stage.eval()
        with torch.no_grad():
            found = Pipe(make_texts(torch.Generator().manual_seed(3), 2, 10)).run()
        stage.train()
        # The last rank alone knows it.
        dist.broadcast(found, world - 1)
        held.append(float(found))
        if is_first:
            print(f"result step {step} loss {losses[-1]:.5f} held out {held[-1]:.5f}")
        with tempfile.TemporaryFile() as f:
            torch.save(dict(stage=stage.state_dict(), averages=averages), f)
        dist.barrier()
        if step > steps - 4 and held[-1] > min(held):
            break
check_fall(rank, losses)
dist.barrier()
if is_first:
    print(f"result {losses[-1]:.9g} {held[-1]:.9g} {len(losses)}")
dist.destroy_process_group()
