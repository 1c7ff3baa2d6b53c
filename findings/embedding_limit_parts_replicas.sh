#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks: an embedding whose rows are limited in length (max_norm).
#
# Question: torch.nn.Embedding(20, 8, max_norm=1) is trained for three steps, each rank with rows of its own. How many rows differ
#           between the replicas of DistributedDataParallel afterwards? And are all rows within the limit that were looked up
#           under fully_shard?
# Guess:    none differ, and all are: both keep the replicas as one process would have them.
# Real:     most rows differ. The limit is applied to the weight itself, in the forward pass, to the rows that this rank looks up; DDP
#           averages gradients only. Under fully_shard the forward pass shortens a gathered copy, which is thrown away: the rows
#           of the last lookup are up to 3.8 long.
# Matters:  replicas part in the first step without an error; a table that is sharded has no limit at all.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from both_ranks import show
dist.init_process_group("gloo")
def shard(model):
    return fully_shard(model, mesh=dist.init_device_mesh("cpu", (2,)))
def train(wrap):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Embedding(20, 8, max_norm=1.0), torch.nn.Linear(8, 1))
    weight, parallel = model[0].weight, wrap(model)
    optimizer = torch.optim.SGD(parallel.parameters(), 0.1)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(3):
        optimizer.zero_grad()
        looked_up = torch.randint(0, 20, (4,))
        parallel(looked_up).square().mean().backward()
        optimizer.step()
    parallel(looked_up)
    if wrap is shard:
        model.reshard()
    return model[0].weight, looked_up
weight, _ = train(DistributedDataParallel)
both = [torch.empty(20, 8) for _ in range(2)]
dist.all_gather(both, weight.detach())
show("DistributedDataParallel: rows of 20 that differ from rank 0", int((both[0] != weight).any(1).sum()))
def longest(weight, rows):
    return round(weight.detach()[rows].norm(dim=1).max().item(), 1)
show("DistributedDataParallel: longest row of the last lookup", longest(*train(DistributedDataParallel)))
weight, rows = train(shard)
show("fully_shard: longest row of the last lookup", longest(weight.full_tensor(), rows))
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
DistributedDataParallel: rows of 20 that differ from rank 0: 0 and 14
DistributedDataParallel: longest row of the last lookup: 1.0 and 1.0
fully_shard: longest row of the last lookup: 3.8 and 3.4
S
