#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: a block that counts its tokens, under activation checkpointing.
#
# Question: a block all-reduces the number of its rows and adds it to a buffer, at its start or at its end; it also has a BatchNorm.
#           One forward and backward pass on 4 rows a rank. How many collectives, what is in the buffers?
# Guess:    one collective, 8 tokens and 1 batch with and without checkpoint(): its purpose is to compute the same.
# Real:     under checkpoint() the collective at the start runs twice and the buffer has 16. At the end it runs twice with
#           use_reentrant=True and once with False, which stops the second pass after the last tensor that it needs. BatchNorm has
#           always seen 2 batches.
# Matters:  expert loads, token counts and running statistics are doubled where a block is checkpointed; one rank that checkpoints
#           other blocks than its peers makes another number of collectives, which is a hang without an error in any line of its own.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.utils.checkpoint import checkpoint
from both_ranks import show
dist.init_process_group("gloo")
class Block(torch.nn.Module):
    def __init__(self, place):
        super().__init__()
        self.place, self.collectives = place, 0
        self.linear, self.norm = torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)
        self.register_buffer("tokens", torch.zeros(1))
    def count(self, x):
        rows = torch.tensor([float(len(x))])
        dist.all_reduce(rows)
        self.collectives += 1
        self.tokens += rows
    def forward(self, x):
        if self.place == "start":
            self.count(x)
        x = self.norm(self.linear(x).relu())
        if self.place == "end":
            self.count(x)
        return x
for place in "start", "end":
    for how in "plain", "use_reentrant=True", "use_reentrant=False":
        block, x = Block(place), torch.rand(4, 2, requires_grad=True)
        y = block(x) if how == "plain" else checkpoint(block, x, use_reentrant=how.endswith("True"))
        y.square().sum().backward()
        show(f"{place}, {how}: collectives, tokens, batches",
             (block.collectives, int(block.tokens), int(block.norm.num_batches_tracked)))
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
start, plain: collectives, tokens, batches: (1, 8, 1) and (1, 8, 1)
start, use_reentrant=True: collectives, tokens, batches: (2, 16, 2) and (2, 16, 2)
start, use_reentrant=False: collectives, tokens, batches: (2, 16, 2) and (2, 16, 2)
end, plain: collectives, tokens, batches: (1, 8, 1) and (1, 8, 1)
end, use_reentrant=True: collectives, tokens, batches: (2, 16, 2) and (2, 16, 2)
end, use_reentrant=False: collectives, tokens, batches: (1, 8, 2) and (1, 8, 2)
S
