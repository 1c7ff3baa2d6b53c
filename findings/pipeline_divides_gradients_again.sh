#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: gradients that are accumulated over several step() of a pipeline schedule.
#
# Question: a schedule of 4 microbatches is stepped 1, 2 and 3 times without zero_grad(). What is in the gradients?
# Guess:    1, 2 and 3 times the gradient of one step, as with any module.
# Real:     0.5, 0.625, 0.656 where 0.5, 1, 1.5 is right. With scale_grads, the default, each step ends by dividing what is in .grad
#           by the number of microbatches, what earlier steps left there included. GPipe and 1F1B do the same.
# Matters:  gradient accumulation around a pipeline trains on little more than the last batch; loss and norm look healthy.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from both_ranks import show
dist.init_process_group("gloo")
rank = dist.get_rank()
for kind in (ScheduleGPipe, Schedule1F1B):
    for steps in (1, 2, 3):
        layer = torch.nn.Linear(2, 2, bias=False)
        torch.nn.init.eye_(layer.weight)
        stage = PipelineStage(layer, rank, 2, torch.device("cpu"))
        schedule = kind(stage, n_microbatches=4, loss_fn=lambda output, target: (output - target).mean())
        for _ in range(steps):
            schedule.step(torch.ones(8, 2)) if rank == 0 else schedule.step(target=torch.zeros(8, 2))
        show(f"{kind.__name__}, {steps} steps", layer.weight.grad.unique().tolist())
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
ScheduleGPipe, 1 steps: [0.5] and [0.5]
ScheduleGPipe, 2 steps: [0.625] and [0.625]
ScheduleGPipe, 3 steps: [0.65625] and [0.65625]
Schedule1F1B, 1 steps: [0.5] and [0.5]
Schedule1F1B, 2 steps: [0.625] and [0.625]
Schedule1F1B, 3 steps: [0.65625] and [0.65625]
S
