# SPDX-License-Identifier: Apache-2.0
"""
Collectives of MindSpore on the CPU (mccl), 2 or more ranks under msrun, and what numpy says of each: what every rank puts in is known
to all, so what must come out is computed without MindSpore.

    ms_collectives.py [--truth PREFIX] [--graph]

PREFIX.<rank>: a list of calls as tests/e2e/torch_truth.py reads it.
"""
import json
import math
import sys

import numpy as np

import mindspore as ms
from mindspore import mint, nn, ops
from mindspore.communication import create_group, get_group_size, get_rank, init

graph = "--graph" in sys.argv
prefix = sys.argv[sys.argv.index("--truth") + 1] if "--truth" in sys.argv else None
ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE, device_target="CPU")
init()
rank, size = get_rank(), get_group_size()
calls = []


def measured(a):
    a = a.astype(np.float64).ravel()
    good = a[np.isfinite(a)]
    whole = len(good) == len(a)
    return [len(a), a.min() if whole else None, a.max() if whole else None, a.mean() if whole else None,
            math.sqrt(float((a * a).sum())) if whole else None, int(np.isnan(a).sum()), int(np.isinf(a).sum())]


def note(op, given, got, expect):
    calls.append({"op": op, "in": [measured(a) for a in given], "out": [measured(a) for a in expect]})
    for have, want in zip(got, expect):
        if not np.array_equal(have, want):
            raise SystemExit(f"rank {rank}: {op} gave {have}, not {want}")


def values(r, n, dtype):
    """Small integers, so that sums have no rounding."""
    return np.random.default_rng(17 * r + n).integers(-40, 40, n).astype(dtype)


class Reduce(nn.Cell):
    def __init__(self, group=None):
        super().__init__()
        self.op = ops.AllReduce(ops.ReduceOp.SUM, group) if group else ops.AllReduce()

    def construct(self, x):
        return self.op(x)


class Gather(nn.Cell):
    def __init__(self):
        super().__init__()
        self.op = ops.AllGather()

    def construct(self, x):
        return self.op(x)


def all_reduce(x):
    return Reduce()(x)


def reduce_all(n, dtype):
    all_of = [values(r, n, dtype) for r in range(size)]
    out = all_reduce(ms.Tensor(all_of[rank])).asnumpy()
    note("all_reduce", [all_of[rank]], [out], [sum(all_of[1:], all_of[0])])


def gather_all(n):
    all_of = [values(r, n, np.float32) for r in range(size)]
    out = Gather()(ms.Tensor(all_of[rank])).asnumpy()
    note("all_gather", [all_of[rank]], [out], [np.concatenate(all_of)])


def broadcast_from(root, n):
    all_of = [values(r, n, np.float32) for r in range(size)]
    out = ops.Broadcast(root)((ms.Tensor(all_of[rank]),))[0].asnumpy()
    note("broadcast", [all_of[root]] if rank == root else [], [out], [all_of[root]])


for n in (1, 6, 1000):
    reduce_all(n, np.float32)
reduce_all(33, np.float16)
gather_all(5)
for root in range(size):
    broadcast_from(root, 12)
if not graph:
    tensor = ms.Tensor(values(rank, 9, np.float32))
    mint.distributed.all_reduce(tensor)
    note("all_reduce", [values(rank, 9, np.float32)], [tensor.asnumpy()],
         [sum(values(r, 9, np.float32) for r in range(size)).astype(np.float32)])
create_group("everyone", list(range(size)))
out = Reduce("everyone")(ms.Tensor(values(rank, 4, np.float32))).asnumpy()
note("all_reduce", [values(rank, 4, np.float32)], [out], [sum(values(r, 4, np.float32) for r in range(size)).astype(np.float32)])
if prefix:
    with open(f"{prefix}.{rank}", "w") as f:
        json.dump(calls, f)
sys.stdout.write(f"rank {rank} of {size}: {len(calls)} calls\n")
