#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks: the flight recorder's entries of collectives that are over.
#
# Question: three all_reduces and a barrier have returned. In which state does the flight recorder's dump show them?
# Guess:    "completed", with the time at which each was.
# Real:     "scheduled", with a completion time of 0, though `retired` is true and pg_status counts them as completed; the last
#           started one is -1. An asynchronous all_reduce after its wait() is not retired either.
# Matters:  whoever looks for the first collective that is not completed finds the first one of the run, on every rank, on gloo.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import json, os
os.environ["TORCH_FR_BUFFER_SIZE"] = "100"
import torch, torch.distributed as dist
from torch._C._distributed_c10d import _dump_fr_trace_json
dist.init_process_group("gloo")
for _ in range(3):
    dist.all_reduce(torch.ones(4))
dist.barrier()
dist.all_reduce(torch.ones(4), async_op=True).wait()
dump = json.loads(_dump_fr_trace_json())
if dist.get_rank() == 0:
    for entry in dump["entries"]:
        print(entry["profiling_name"], entry["state"], entry["time_discovered_completed_ns"], "retired" if entry["retired"] else "not retired", flush=True)
    status = dump["pg_status"]["0"]
    print("completed", status["last_completed_collective"], "started", status["last_started_collective"], flush=True)
dist.barrier()
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
gloo:all_reduce scheduled 0 retired
gloo:all_reduce scheduled 0 retired
gloo:all_reduce scheduled 0 retired
gloo:barrier scheduled 0 retired
gloo:all_reduce scheduled 0 not retired
completed 4 started -1
S
