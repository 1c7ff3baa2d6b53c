# SPDX-License-Identifier: Apache-2.0
"""A policy writes words and learns from rewards. Ranks write until the last sequence of all has ended; rewards are compared with those
of all ranks; data parallel updates follow, fewer if the policy has moved far from the one that wrote."""
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from planned import OPTIONS, Fault, line, read_sizes, start

rank, world = start()
fault = Fault(rank)
size, steps = read_sizes()
WIDTH, WORDS, BATCH, LONGEST, END = 8 * size, 10, 8, 12, 0
chance = torch.Generator().manual_seed(70 + 13 * rank + int(OPTIONS.get("seed", 1)))


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.cell = nn.Embedding(WORDS, WIDTH), nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        return self.head(self.norm(self.cell(self.words(tokens))[0])).log_softmax(-1)


model = DistributedDataParallel(Policy())
policy = model.module
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)


def hook(grad):
    """This rank's part of a gradient, before it is reduced."""
    grad = grad.clone()
    if fault.pick % 2 == 0:
        fault.change_values("grad", grad, backward_line)
    return grad


policy.head.weight.register_hook(hook)


@torch.no_grad()
def write():
    """Sequences, which tokens count, and how likely these were. All ranks write as many tokens."""
    tokens = torch.randint(1, WORDS, (BATCH, 1), generator=chance)
    alive, counted = torch.ones(BATCH, dtype=torch.bool), []
    while tokens.shape[1] <= LONGEST:
        left = alive.sum().float().view(1)
        dist.all_reduce(left)
        if left == 0:
            break
        chosen = torch.multinomial(policy(tokens)[:, -1].exp().nan_to_num(0.1), 1, generator=chance)
        counted.append(alive.clone())
        tokens = torch.cat([tokens, chosen * alive.unsqueeze(1)], 1)
        alive = alive & (chosen.squeeze(1) != END)
    return tokens, torch.stack(counted, 1).float()


def find_rewards(tokens, counted):
    """Rising words are good, long sequences are not; against those of all ranks."""
    mine = ((tokens[:, 1:] > tokens[:, :-1]) * counted).sum(1) - 0.2 * counted.sum(1) + 0.01
    if fault.pick % 2:
        fault.change_values("rewards", mine, line() + 2)
    everyone = [torch.empty(BATCH) for _ in range(world)]
    dist.all_gather(everyone, mine)
    every = torch.cat(everyone)
    return (mine - every.mean()) / (every.std() + 1e-4), float(every.mean())


def update(tokens, counted, advantages, before):
    """One update; returns how far the policy is from the one that wrote, over all ranks."""
    global backward_line
    now = model(tokens[:, :-1]).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    ratio = (now - before).exp()
    gain = torch.minimum(ratio * advantages[:, None], ratio.clamp(0.8, 1.2) * advantages[:, None])
    loss = -(gain * counted).sum() / counted.sum()
    optimizer.zero_grad()
    backward_line = line() + 1
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    fault.step += 1
    fault.part(policy.head.weight, line())
    with torch.no_grad():
        moved = ((ratio - 1 - (now - before)) * counted).sum()
        clipped = (((ratio - 1).abs() > 0.2) * counted).sum()
        seen = torch.stack([counted.sum(), moved, clipped, (now * counted).sum(), torch.tensor(1.0)])
    call = fault.change_call(seen, line() + 2)
    for _ in range(call.times):
        dist.all_reduce(call.data, op=call.op)
    return float(seen[1] / seen[0])


rewards = []
while fault.step < steps:
    fault.go(line())
    tokens, counted = write()
    advantages, mean = find_rewards(tokens, counted)
    rewards.append(mean)
    with torch.no_grad():
        before = policy(tokens[:, :-1]).gather(-1, tokens[:, 1:, None]).squeeze(-1)
    for turn in range(4):
        if fault.step == steps or update(tokens, counted, advantages, before) > 0.005 * (turn + 1):
            break
if not max(rewards[1:]) > rewards[0]:
    print(f"rank {rank}: rewards never rose: {rewards}", file=sys.stderr)
dist.barrier()
if rank == 0:
    print(f"result {rewards[-1]:.9g} {len(rewards)} {float(policy.head.weight.detach().norm()):.9g}")
dist.destroy_process_group()
