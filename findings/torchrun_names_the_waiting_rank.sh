#!/usr/bin/env bash
# PyTorch 2.13.0: torchrun's "Root Cause (first observed failure)" of a job in which one rank raises.
#
# Question: rank 1 raises ValueError, leaves the process group in its `finally:` and takes two seconds to save its log. The other
#           ranks wait for it in all_reduce. All use @record of torch.distributed.elastic. Whom does torchrun name?
# Guess:    rank 1 and its ValueError: @record is there to note each rank's own exception and its time.
# Real:     a rank that waited, and "Connection closed by peer". @record notes an exception when it leaves the decorated function,
#           so after `finally:`; the waiting ranks' exceptions, which follow from the first, have an earlier time in whole seconds.
# Matters:  `finally: destroy_process_group()` with a logger's or a checkpoint's end is a usual way to end a training. The rank and
#           the line that torchrun prints last are then innocent ones, and so is the node that is drained for it.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import time
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record

@record
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    try:
        dist.all_reduce(torch.ones(4))
        if rank == 1:
            raise ValueError("bad batch")
        dist.all_reduce(torch.ones(4))
    finally:
        dist.destroy_process_group()
        if rank == 1:
            time.sleep(2)  # saves its log

main()
P
timeout 300 "$python" -m torch.distributed.run --nproc-per-node 3 "$work/program.py" >"$work/errors" 2>&1
[ $? -eq 1 ] || { tail -20 "$work/errors"; exit 2; }
# Either of the two waiting ranks may be the first.
sed -n '/Root Cause/,$p' "$work/errors" | grep -oE 'Root Cause.*|rank  +: [0-9]+|(Value|Runtime)Error: .*' | sed 's/: [02]$/: 0 or 2/; s/RuntimeError: .*/RuntimeError of all_reduce/' >"$work/seen"
expect_output "$work/seen" <<'S'
Root Cause (first observed failure):
rank      : 0 or 2
RuntimeError of all_reduce
S
