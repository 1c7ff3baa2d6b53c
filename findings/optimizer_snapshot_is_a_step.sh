#!/usr/bin/env bash
# PyTorch 2.13.0, CPU: get_state_dict() of torch.distributed.checkpoint before the first step of a training.
#
# Question: a weight of 1 has the gradient 1 in each of three steps. One program trains at once, the other first asks for the state of
#           model and optimizer, as is done to look for a checkpoint or to save step 0. Do both end with the same weight?
# Guess:    yes: the function reads.
# Real:     no. To have a state to return it makes a step with zero gradients and a learning rate of 0, and that step counts. Adam's
#           correction of its first steps begins at step 2: 0.749 for 0.7. SGD's dampening meets a momentum of 0 instead of none: 0.944
#           for 0.7. Rprop's step sizes fall to the least ones: the weight does not move.
# Matters:  a run with a checkpoint of step 0 is another run than the one without, from its first step on. Nothing is printed, and the step
#           counter of the state is one too high in all later checkpoints.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch
from torch.distributed.checkpoint.state_dict import get_state_dict
OPTIMIZERS = {"Adam": (torch.optim.Adam, {}), "SGD with dampening": (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.9}),
              "Adagrad": (torch.optim.Adagrad, {}), "Rprop": (torch.optim.Rprop, {})}
def train(kind, options, look):
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    optimizer = kind(model.parameters(), lr=0.1, **options)
    if look:
        get_state_dict(model, optimizer)
    for _ in range(3):
        model(torch.ones(1, 1)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    step = optimizer.state[model.weight].get("step")
    return f"{model.weight.item():.4f}" + (f" (step {step.item():.0f})" if step is not None else "")
for name, (kind, options) in OPTIMIZERS.items():
    print(f"{name}: {train(kind, options, False)}, asked first {train(kind, options, True)}")
P
"$python" -W ignore "$work/program.py" >"$work/seen" 2>"$work/errors" || { tail -5 "$work/errors"; exit 2; }
expect_output "$work/seen" <<'S'
Adam: 0.7000 (step 3), asked first 0.7488 (step 4)
SGD with dampening: 0.7000, asked first 0.9439
Adagrad: 0.7716 (step 3), asked first 0.7716 (step 3)
Rprop: 0.6360 (step 3), asked first 1.0000 (step 4)
S
