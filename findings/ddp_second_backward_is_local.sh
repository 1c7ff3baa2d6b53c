#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: DistributedDataParallel and two backward passes.
#
# Question: the gradient of a weight is 1 on rank 0 and 2 on rank 1, so 1.5 after DDP has averaged it. What is it after backward() twice
#           through one forward pass (retain_graph=True), and after two forward passes followed by their two backward passes?
# Guess:    3 on both ranks, or an error that DDP allows one backward pass a forward pass.
# Real:     the second backward pass is not averaged: 2.5 and 3.5, without an error, also with find_unused_parameters and
#           static_graph. Each forward pass allows one reduction and the second one has no forward pass of its own before it.
#           Forward, backward, forward, backward gives 3.
# Matters:  two losses with a backward pass each, or a loop that collects losses of several forward passes and then goes through them:
#           replicas part in the first step, by gradients that are half right.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
x = torch.full((1, 1), 1.0 + dist.get_rank())
def one_graph(model):
    loss = model(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
def both_forwards_first(model):
    losses = [model(x).sum(), model(x).sum()]
    for loss in losses:
        loss.backward()
def in_turn(model):
    for _ in range(2):
        model(x).sum().backward()
def of_the_sum(model):
    (model(x).sum() + model(x).sum()).backward()
for options in {}, {"find_unused_parameters": True}, {"static_graph": True}:
    for way in one_graph, both_forwards_first, in_turn, of_the_sum:
        layer = torch.nn.Linear(1, 1, bias=False)
        way(DistributedDataParallel(layer, **options))
        show(f"{options} {way.__name__}", layer.weight.grad.item())
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
{} one_graph: 2.5 and 3.5
{} both_forwards_first: 2.5 and 3.5
{} in_turn: 3.0 and 3.0
{} of_the_sum: 3.0 and 3.0
{'find_unused_parameters': True} one_graph: 2.5 and 3.5
{'find_unused_parameters': True} both_forwards_first: 2.5 and 3.5
{'find_unused_parameters': True} in_turn: 3.0 and 3.0
{'find_unused_parameters': True} of_the_sum: 3.0 and 3.0
{'static_graph': True} one_graph: 2.5 and 3.5
{'static_graph': True} both_forwards_first: 2.5 and 3.5
{'static_graph': True} in_turn: 3.0 and 3.0
{'static_graph': True} of_the_sum: 3.0 and 3.0
S
