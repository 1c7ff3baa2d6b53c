#!/usr/bin/env bash
# PyTorch 2.13.0, gloo, 2 ranks, CPU: random numbers in sharded parameters.
#
# Question: all ranks call torch.manual_seed(0), shard a layer with fully_shard and initialise it afterwards, as is done for models that
#           begin on the meta device. Are the rows of the whole weight all different? Has a dropout of a sharded tensor another mask in
#           each shard?
# Guess:    yes, twice, as on one device: a DTensor is one tensor.
# Real:     no, twice. On a CPU mesh each rank draws from its own generator, so equal seeds give each shard the same numbers.
#           Seeds that differ between ranks are no way out: they repair the shards and break the tensors that must be equal on all
#           ranks.
# Matters:  a sharded model that is debugged on CPUs starts with half of its rows. Whether they stay tied in a training was not run.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from both_ranks import show
dist.init_process_group("gloo")
mesh = dist.init_device_mesh("cpu", (2,))
torch.manual_seed(0)
with torch.device("meta"):
    layer = torch.nn.Linear(4, 4, bias=False)
fully_shard(layer, mesh=mesh)
layer.to_empty(device="cpu")
layer.reset_parameters()
weight = layer.weight.full_tensor()
show("rows 0, 1 equal to rows 2, 3 after reset_parameters()", torch.equal(weight[:2], weight[2:]))
ones = distribute_tensor(torch.ones(8, 4), mesh, [Shard(0)])
whole = torch.nn.functional.dropout(ones, 0.5).full_tensor()
show("dropout: both halves have the same mask", torch.equal(whole[:4], whole[4:]))
torch.manual_seed(dist.get_rank())
ones = distribute_tensor(torch.ones(8, 4), mesh, [Replicate()])
layer.reset_parameters()
weight = layer.weight.full_tensor()
show("another seed on each rank: rows 0, 1 equal to rows 2, 3", torch.equal(weight[:2], weight[2:]))
show("another seed on each rank, replicated dropout: sum", torch.nn.functional.dropout(ones, 0.5).to_local().sum().item())
P
run_two_ranks "$work/program.py"
expect_output "$work/seen" <<'S'
rows 0, 1 equal to rows 2, 3 after reset_parameters(): True and True
dropout: both halves have the same mask: True and True
another seed on each rank: rows 0, 1 equal to rows 2, 3: False and False
another seed on each rank, replicated dropout: sum: 34.0 and 28.0
S
