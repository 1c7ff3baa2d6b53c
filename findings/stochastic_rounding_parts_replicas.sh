#!/usr/bin/env bash
# torchao 0.18.0 with PyTorch 2.13.0, CPU, gloo, 2 ranks: AdamW with bf16_stochastic_round=True under DistributedDataParallel.
#
# Question: both ranks begin with the same weights in bfloat16. DDP gives them the same gradients. Each rank has a seed of its own, as is
#           usual for augmentation and dropout. Are the weights equal after 10 steps?
# Guess:    yes: equal weights, gradients and moments give equal weights.
# Real:     no. Each rank rounds up or down by its own random numbers, and more than half of the weights differ. With the same seed on both
#           ranks, or without stochastic rounding, they are equal. One more random number drawn on one rank is enough to part them.
# Matters:  the replicas drift apart, and DDP goes on to average gradients of different models, without an error. A checkpoint of rank 0
#           is not the model whose loss was logged.
. "$(dirname "$0")/lib.sh"
environment torchao torch==2.13.0 numpy torchao==0.18.0
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torchao.optim import _AdamW
dist.init_process_group("gloo")
rank = dist.get_rank()
def train(seed, draws, rounding):
    torch.manual_seed(0)
    layer = torch.nn.Linear(64, 64, bias=False).bfloat16()
    model = DistributedDataParallel(layer)
    optimizer = _AdamW(model.parameters(), lr=1e-3, bf16_stochastic_round=rounding)
    batches = torch.randn(10, 8, 64).bfloat16()
    torch.manual_seed(seed)
    torch.rand(draws)
    for batch in batches:
        model(batch).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    weights = [torch.zeros_like(layer.weight.data) for _ in range(2)]
    dist.all_gather(weights, layer.weight.data)
    share = (weights[0] != weights[1]).float().mean().item()
    return "are equal" if share == 0 else "differ in more than half" if share > 0.5 else "differ in less than half"
for name, arguments in (("a seed per rank", (rank, 0, True)), ("one seed", (5, 0, True)), ("one seed, one more draw on rank 1", (5, rank, True)),
                        ("a seed per rank, bf16_stochastic_round=False", (rank, 0, False))):
    result = train(*arguments)
    if rank == 0:
        print(f"{name}: the weights {result}", flush=True)
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
a seed per rank: the weights differ in more than half
one seed: the weights are equal
one seed, one more draw on rank 1: the weights differ in more than half
a seed per rank, bf16_stochastic_round=False: the weights are equal
S
