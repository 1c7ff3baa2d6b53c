# SPDX-License-Identifier: Apache-2.0
"""
Experts on several ranks: `expert_parallel.py [FILE]` under torchrun; FILE.<rank> has lines `step kind name value`: what this rank sends to
each rank, counted before it is sent. Layer 0 has one expert a rank, layer 1 two, and tells its top_k; each also exchanges its split sizes,
sends the results back, and its backward pass sends gradients. Prints rank 0's losses, and each rank's checksum.
"""
import os
import sys
import zlib

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
torch.set_num_threads(1)
truth = open(f"{sys.argv[1]}.{rank}", "w") if len(sys.argv) > 1 else None
WIDTH, TOKENS = 16, 40
step = 0


def note(kind, name, values):
    for i, v in enumerate(values):
        if truth:
            print(step, kind, name.format(i), float(v), file=truth)


class Exchange(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sent, received):
        ctx.sizes = sent, received
        out = x.new_empty(sum(received), x.shape[1])
        dist.all_to_all_single(out, x.contiguous(), received, sent)
        return out

    @staticmethod
    def backward(ctx, grad):
        sent, received = ctx.sizes
        out = grad.new_empty(sum(sent), grad.shape[1])
        dist.all_to_all_single(out, grad.contiguous(), sent, received)
        return out, None, None


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, WIDTH)

    def forward(self, x, sent, received):
        return Exchange.apply(self.up(Exchange.apply(x, sent, received)), received, sent)


class Block(nn.Module):
    def __init__(self, name, each):
        super().__init__()
        self.label, self.each = name, each
        self.gate = nn.Linear(WIDTH, each * ranks, bias=False)
        self.expert = Expert()
        if each > 1:
            self.top_k = 1

    def forward(self, x):
        logits = self.gate(x)
        chosen = logits.argmax(-1)
        order = (chosen // self.each).sort(stable=True).indices
        sent = torch.bincount(chosen // self.each, minlength=ranks)
        note("tokens_per_rank", self.label + ".gate/rank_{}", sent)
        note("tokens_per_expert", self.label + ".gate/expert_{}", torch.bincount(chosen, minlength=self.each * ranks))
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent)
        y = self.expert(x[order], sent.tolist(), received.tolist())
        weight = logits.softmax(-1).amax(-1, keepdim=True)
        return x + weight * torch.empty_like(y).index_copy(0, order, y)


net = nn.Sequential(Block("0", 1), Block("1", 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    loss = net(torch.randn(TOKENS, WIDTH)).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
    if rank == 0:
        print(repr(loss.item()))
sums = [None] * ranks
dist.all_gather_object(sums, zlib.crc32(b"".join(p.detach().numpy().tobytes() for p in net.parameters())))
if rank == 0:
    print(sums)
if truth:
    truth.close()
dist.destroy_process_group()
