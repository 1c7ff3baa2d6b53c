#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, gloo), 2 ranks, with and without TORCH_DISTRIBUTED_DEBUG=DETAIL: tensors of one shape and two layouts.
#
# Question: rank 1's tensor has the shape and the values of rank 0's, but lies in memory transposed (or in channels_last). What do
#           all_reduce and broadcast make of it?
# Guess:    they work by index, as every operator does, or refuse the layout ("must be contiguous", as all_gather says).
# Real:     they take the elements in the order of memory. Elements of different indices are added, the ranks end with different
#           tensors, and nothing is said, not even in the DETAIL mode, which compares shapes, types and layouts.
# Matters:  one rank that calls .to(memory_format=channels_last), or .t(), corrupts the others. DistributedDataParallel alone
#           compares the strides of parameters.
. "$(dirname "$0")/lib.sh"
environment torch torch==2.13.0 numpy
cat >"$work/program.py" <<'P'
import torch, torch.distributed as dist
from both_ranks import show
dist.init_process_group("gloo")
rank = dist.get_rank()
def make():
    square = torch.arange(4.).reshape(2, 2)
    return square.t().contiguous().t() if rank else square
tensor = make(); show("before", tensor.tolist())
dist.all_reduce(tensor); show("all_reduce", tensor.tolist())
tensor = make(); dist.broadcast(tensor, 0); show("broadcast", tensor.tolist())
image = torch.arange(4.).reshape(1, 2, 1, 2)
if rank:
    image = image.to(memory_format=torch.channels_last)
dist.broadcast(image, 0); show("broadcast, channels_last on rank 1", image.flatten().tolist())
P
for mode in OFF DETAIL; do
	export TORCH_DISTRIBUTED_DEBUG=$mode
	run_two_ranks "$work/program.py"
	{ echo "debug mode $mode"; cat "$work/seen"; } >>"$work/both"
done
expect_output "$work/both" <<'S'
debug mode OFF
before: [[0.0, 1.0], [2.0, 3.0]] and [[0.0, 1.0], [2.0, 3.0]]
all_reduce: [[0.0, 3.0], [3.0, 6.0]] and [[0.0, 3.0], [3.0, 6.0]]
broadcast: [[0.0, 1.0], [2.0, 3.0]] and [[0.0, 2.0], [1.0, 3.0]]
broadcast, channels_last on rank 1: [0.0, 1.0, 2.0, 3.0] and [0.0, 2.0, 1.0, 3.0]
debug mode DETAIL
before: [[0.0, 1.0], [2.0, 3.0]] and [[0.0, 1.0], [2.0, 3.0]]
all_reduce: [[0.0, 3.0], [3.0, 6.0]] and [[0.0, 3.0], [3.0, 6.0]]
broadcast: [[0.0, 1.0], [2.0, 3.0]] and [[0.0, 2.0], [1.0, 3.0]]
broadcast, channels_last on rank 1: [0.0, 1.0, 2.0, 3.0] and [0.0, 2.0, 1.0, 3.0]
S
