#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: DistributedDataParallel with the PowerSGD hook, and one NaN in one batch of one rank.
#
# Question: step 3 has a NaN. It is noticed, the optimizer's step is skipped, the gradients are set to zero. What are the gradients
#           of step 4?
# Guess:    healthy, as without the hook: the NaN was in the gradients alone.
# Real:     all NaN, and for ever. The hook keeps what a compression leaves as an error to be added next time, and that has the NaN.
# Matters:  a loop (or a GradScaler) that skips steps with NaN or Inf skips each step from there on; new weights do not help, the
#           hook's state has to be made again.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel
from both_ranks import show
dist.init_process_group("gloo")
def train(name, state, hook):
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(64, 64, bias=False))
    model.register_comm_hook(state, hook)
    nans = []
    for step in range(7):
        model.zero_grad()
        batch = torch.ones(4, 64)
        if step == 3 and dist.get_rank() == 1:
            batch[0, 0] = float("nan")
        model(batch).sum().backward()
        nans.append(model.module.weight.grad.isnan().sum().item())
    show(f"{name}, NaN of 4096 by step", nans)
train("allreduce_hook", None, default_hooks.allreduce_hook)
train("powerSGD_hook", powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, min_compression_rate=0.5), powerSGD_hook.powerSGD_hook)
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
allreduce_hook, NaN of 4096 by step: [0, 0, 0, 64, 0, 0, 0] and [0, 0, 0, 64, 0, 0, 0]
powerSGD_hook, NaN of 4096 by step: [0, 0, 0, 4096, 4096, 4096, 4096] and [0, 0, 0, 4096, 4096, 4096, 4096]
S
