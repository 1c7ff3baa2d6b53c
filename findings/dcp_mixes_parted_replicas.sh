#!/usr/bin/env bash
# PyTorch 2.13.0: torch.distributed.checkpoint of a DDP model whose replicas have parted.
#
# Question: rank 0's parameters are all 0, rank 1's all 1, as after a lost reduction. Both call dcp.save(). Whose parameters are in the
#           checkpoint?
# Guess:    rank 0's: one rank writes what all have.
# Real:     a mixture. What all ranks have is written once, by the ranks in turn so that each writes about as much: here half
#           of the tensors are rank 1's, among them the bias of a layer whose weight is rank 0's, and the Python number too.
# Matters:  a model in the checkpoint that no rank ever had. It is not the model whose loss was printed, and a restart from it hides that
#           the replicas had parted. DefaultSavePlanner(dedup_save_to_lowest_rank=True) writes rank 0's.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy==2.4.6
cat >"$work/program.py" <<'P'
import os
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
dist.init_process_group("gloo")
rank = dist.get_rank()
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(3)])).module
for p in net.parameters():
    p.data.fill_(rank)
for lowest in (False, True):
    at = os.path.join(os.environ["work"], f"checkpoint{lowest}")
    dcp.save({"net": net.state_dict(), "seen": 100 + rank}, checkpoint_id=at, planner=dcp.DefaultSavePlanner(dedup_save_to_lowest_rank=lowest))
    read = {"net": {k: torch.full_like(v, -1) for k, v in net.state_dict().items()}, "seen": 0}
    dcp.load(read, checkpoint_id=at)
    if rank == 0:
        ranks = ", ".join(f"{k} of rank {int(v.flatten()[0])}" for k, v in read["net"].items())
        print(f"{'lowest rank' if lowest else 'default'}: {ranks}; the number is rank {read['seen'] - 100}'s", flush=True)
    dist.barrier()
dist.destroy_process_group()
P
export work
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
default: 0.weight of rank 0, 0.bias of rank 1, 1.weight of rank 1, 1.bias of rank 0, 2.weight of rank 0, 2.bias of rank 1; the number is rank 1's
lowest rank: 0.weight of rank 0, 0.bias of rank 0, 1.weight of rank 0, 1.bias of rank 0, 2.weight of rank 0, 2.bias of rank 0; the number is rank 0's
S
