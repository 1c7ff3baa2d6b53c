#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: ZeroRedundancyOptimizer.state_dict() some steps after consolidate_state_dict().
#
# Question: each rank holds the Adam state of its part of the parameters. After step 1 rank 0 gathers all parts
#           (consolidate_state_dict), after step 3 it asks for state_dict() without gathering again. Of which step are the parts?
# Guess:    an error, as on a rank that has never gathered; or step 1 everywhere.
# Real:     no error: rank 0's own part is of step 3, the other rank's of step 1.
# Matters:  a checkpoint that is written more often than it is gathered restores moments of different ages and different bias
#           corrections by parameter; losses go on without a jump that would tell.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer
from both_ranks import show
dist.init_process_group("gloo")
torch.manual_seed(0)
model = torch.nn.Linear(2, 2)
parallel = torch.nn.parallel.DistributedDataParallel(model)
optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.1)
def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        parallel(torch.ones(1, 2)).sum().backward()
        optimizer.step()
def saved():
    try:
        state = optimizer.state_dict()["state"]
    except RuntimeError as error:
        return str(error).split(".")[0]
    return {name: int(state[i]["step"]) for i, (name, _) in enumerate(model.named_parameters())}
train(1)
show("before gathering, step 1", saved())
optimizer.consolidate_state_dict(0)
show("gathered, step 1", saved())
train(2)
show("not gathered again, step 3", saved())
optimizer.consolidate_state_dict(0)
show("gathered again, step 3", saved())
dist.destroy_process_group()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
before gathering, step 1: Optimizer state has not been consolidated on this rank and Optimizer state has not been consolidated on this rank
gathered, step 1: {'weight': 1, 'bias': 1} and Optimizer state has not been consolidated on this rank
not gathered again, step 3: {'weight': 3, 'bias': 1} and Optimizer state has not been consolidated on this rank
gathered again, step 3: {'weight': 3, 'bias': 3} and Optimizer state has not been consolidated on this rank
S
