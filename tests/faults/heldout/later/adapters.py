# SPDX-License-Identifier: Apache-2.0
"""Adapters of low rank on a frozen encoder: half precision with a scaled loss, several micro batches a step, gradients that are reduced
as bfloat16. The scale begins too high, so that the first steps overflow and are not taken. A training ends once it no longer gains."""
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
WIDTH, WORDS, LOW, MICRO, BATCH, HEADS = 16 * size, 24, 4, 3, 6, 2


class Adapted(nn.Module):
    """A frozen matrix and two small ones; the second begins at zero."""

    def __init__(self, width_in, width_out):
        super().__init__()
        self.base = nn.Linear(width_in, width_out).requires_grad_(False)
        self.down, self.up = nn.Linear(width_in, LOW, bias=False), nn.Linear(LOW, width_out, bias=False)
        self.drop = nn.Dropout(0.05)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + 2 * self.up(self.down(self.drop(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH).requires_grad_(False) for _ in range(2))
        self.qkv, self.out = Adapted(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH).requires_grad_(False)
        self.wide, self.narrow = Adapted(WIDTH, 2 * WIDTH), Adapted(2 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (HEADS, WIDTH // HEADS)).transpose(1, 2) for t in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.norms[1](x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH).requires_grad_(False)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(2)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_text(chance, many, longest):
    """Sequences of the same length: each word mostly follows from the last."""
    length = int(torch.randint(longest // 2, longest + 1, (1,), generator=chance))
    text = torch.randint(0, WORDS, (many, length + 1), generator=chance)
    for k in range(length):
        is_usual = torch.rand(many, generator=chance) < 0.9
        text[:, k + 1] = torch.where(is_usual, (text[:, k] * 5 + 1) % WORDS, text[:, k + 1])
    return text


def find_loss(text):
    """The mean over the words of one sequence, of all sequences."""
    with torch.autocast("cpu", dtype=torch.float16):
        logits = model(text[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1).float(), text[:, 1:].flatten())


def reduce_bucket(_, bucket):
    """Means of gradients, as bfloat16 on their way."""
    flat = bucket.buffer()
    small = (flat / world).to(torch.bfloat16)
    call = None
    if fault.pick % 2 == 0:
        fault.change_values(f"bucket{bucket.index()}", small, line() + 4)
        call = fault.change_call(small, line() + 3)
    work = None
    for _ in range(call.times if call else 1):
        work = dist.all_reduce(call.data if call else small, op=call.op if call else dist.ReduceOp.SUM, async_op=True)
    if not work:
        return torch.futures.Future().set_result(flat)
    return work.get_future().then(lambda done: flat.copy_(small))


def evaluate():
    """The held-out text is divided over the ranks."""
    texts = make_text(torch.Generator().manual_seed(8), 12, 12)
    model.eval()
    with torch.no_grad():
        mine = texts[rank::world]
        sums = torch.tensor([float(find_loss(mine)) * len(mine), float(len(mine))])
    model.train()
    dist.all_reduce(sums)
    return float(sums[0] / sums[1])


def count_step(*_):
    fault.step += 1


model = DistributedDataParallel(Model(), bucket_cap_mb=0.01)
model.register_comm_hook(None, reduce_bucket)
torch.manual_seed(500 + rank)
tuned = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(tuned, lr=2e-2, weight_decay=0.0)
optimizer.register_step_post_hook(count_step)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, (k + 1) / 4) * (1 - 0.7 * k / (steps + 4)))
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 23, growth_interval=500)
data = torch.Generator().manual_seed(800 + 23 * rank + int(OPTIONS.get("seed", 1)))
losses, held, overflows = [], [], 0
while fault.step < steps and overflows < 10:
    before = fault.step
    fault.go(line())
    total, words = 0.0, 0
    for micro in range(MICRO):
        text = make_text(data, BATCH + rank % 2, 14)
        with model.no_sync() if micro < MICRO - 1 else contextlib.nullcontext():
            loss = find_loss(text) / MICRO
            loss = fault.change_loss(loss, line())
            scaler.scale(loss).backward()
        total += float(loss.detach())
        words += text.numel()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(tuned, 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    if fault.step == before:
        overflows += 1
        fault.skipped += 1
    else:
        schedule.step()
        fault.part(model.module.head.weight, line())
    seen = torch.tensor([total, float(words), float(norm.nan_to_num(0, 0, 0)), total ** 2, math.log2(scaler.get_scale())])
    if fault.pick % 2:
        fault.change_values("seen", seen, line() + 3)
    call = fault.change_call(seen, line() + 2) if fault.pick % 2 else None
    for _ in range(call.times if call else 1):
        dist.all_reduce(call.data if call else seen, op=call.op if call else dist.ReduceOp.SUM)
    losses.append(float(seen[0]) / world)
    if fault.step > before and fault.step % 6 == 0:
        held.append(evaluate())
        if rank == 0:
            print(f"result step {fault.step} loss {losses[-1]:.5f} held out {held[-1]:.5f} scale {scaler.get_scale():g}")
            with tempfile.TemporaryFile() as f:
                torch.save({k: v for k, v in model.module.state_dict().items() if "base" not in k}, f)
        if fault.step > steps - 4 and len(held) > 1 and held[-1] > held[-2]:
            break
if not min(losses[-3:]) < losses[0] or not held[-1] < math.log(WORDS):
    print(f"rank {rank}: losses did not fall: {losses} {held}", file=sys.stderr)
if not 0 < overflows < 7:
    print(f"rank {rank}: {overflows} steps overflowed", file=sys.stderr)
flat = torch.cat([p.detach().flatten() for p in tuned])
others = [torch.empty_like(flat) for _ in range(world)]
dist.all_gather(others, flat)
if not all(torch.equal(flat, o) for o in others):
    print(f"rank {rank}: the adapters are not those of the others", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {losses[-1]:.9g} {held[-1]:.9g} {overflows} {float(flat.norm()):.9g}")
dist.destroy_process_group()
