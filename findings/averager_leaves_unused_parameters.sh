#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: averaging models every fourth step (local SGD).
#
# Question: a model has two heads; the second one is trained in steps 1 and 5, the first one in all others. PeriodicModelAverager
#           gets all parameters after each step and averages in steps 0 and 4. Are the replicas equal after step 4?
# Guess:    yes: all parameters are averaged.
# Real:     the second head is not equal, then or later. A parameter whose gradient is None is not averaged, and zero_grad() sets the
#           gradients to None: only what the last micro batch used takes part.
# Matters:  replicas of a head, an expert or a branch part without an error, for as long as no averaging step happens to use it.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from both_ranks import show
dist.init_process_group("gloo")
torch.manual_seed(0)
first, second = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
parameters = [*first.parameters(), *second.parameters()]
optimizer = torch.optim.SGD(parameters, 0.1)
averager = PeriodicModelAverager(period=4)
torch.manual_seed(dist.get_rank())
for step in range(9):
    optimizer.zero_grad()
    (second if step % 4 == 1 else first)(torch.rand(3, 2)).square().mean().backward()
    optimizer.step()
    averager.average_parameters(parameters)
    if step % 4 == 0:
        show(f"step {step}, first head", round(first.bias.item(), 4))
        show(f"step {step}, second head", round(second.bias.item(), 4))
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
step 0, first head: -0.5076 and -0.5076
step 0, second head: 0.1896 and 0.1896
step 4, first head: -0.3785 and -0.3785
step 4, second head: 0.2317 and 0.2386
step 8, first head: -0.3314 and -0.3314
step 8, second head: 0.2263 and 0.2609
S
