#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: fully_shard() and forward passes without a backward pass.
#
# Question: a layer's weights are all 1, its output is 16. A training step would make that 14.4. Which output has a forward pass after the
#           step if another forward pass, such as an evaluation, lies between backward() and step()? And what does an optimizer train
#           that is made after an evaluation?
# Guess:    14.4, and all parameters: shards are an affair of the library.
# Real:     16, and nothing. By default the outermost module keeps its gathered weights after a forward pass until the next backward
#           pass. Forward passes until then use this copy: the evaluation after the step, and the next training step too. As long as
#           they are gathered parameters() hands out the copy as well, so the new optimizer has parameters that never get a gradient.
#           With reshard_after_forward=True both are as guessed.
# Matters:  a loss after the step is the one before it; perturbing weights between forward passes (zeroth-order training, a moving average
#           swapped in) changes nothing; an optimizer made after a first evaluation trains nothing, without an error. Modules inside,
#           sharded by calls of their own, are not concerned, so it is embeddings, heads and last norms that lag.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
from torch.distributed.fsdp import fully_shard
dist.init_process_group("gloo")
x = torch.ones(1, 4)
def layer(options):
    model = torch.nn.Linear(4, 4, bias=False)
    torch.nn.init.ones_(model.weight)
    return fully_shard(model, **options)
def evaluate(model):
    with torch.no_grad():
        return round(model(x).sum().item(), 2)
for options in {}, {"reshard_after_forward": True}:
    model = layer(options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).sum().backward()
    before = evaluate(model)
    optimizer.step()
    after = evaluate(model)
    training = model(x).sum()
    show(f"{options} before the step, after it, in the next training step", (before, after, round(training.item(), 2)))
    model = layer(options)
    evaluate(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(x).sum().backward()
    optimizer.step()
    show(f"{options} after the first step of an optimizer made after an evaluation", evaluate(model))
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
{} before the step, after it, in the next training step: (16.0, 16.0, 16.0) and (16.0, 16.0, 16.0)
{} after the first step of an optimizer made after an evaluation: 16.0 and 16.0
{'reshard_after_forward': True} before the step, after it, in the next training step: (16.0, 14.4, 14.4) and (16.0, 14.4, 14.4)
{'reshard_after_forward': True} after the first step of an optimizer made after an evaluation: 14.4 and 14.4
S
