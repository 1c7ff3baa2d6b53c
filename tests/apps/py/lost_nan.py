"""What gloo does to values that reductions do not carry: lost_nan.py [STEP]. Prints facts, a line each; with a number a job of six steps
follows the facts that need no NaN and no Inf, in which rank 1 puts a NaN into an all_reduce by MAX in that step."""
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()


def each(value):
    """A value of each rank, on rank 0."""
    all = [None] * ranks
    dist.gather_object(value, all if rank == 0 else None)
    return all


def say(*words):
    if rank == 0:
        print(*words, flush=True)


def table():
    for name, op in (("max", dist.ReduceOp.MAX), ("min", dist.ReduceOp.MIN), ("sum", dist.ReduceOp.SUM)):
        for count, at in ((1, 0), (2, 0), (2, 1), (64, 0), (64, 63), (1001, 0), (1001, 500), (1001, 1000)):
            for source in range(ranks):
                t = torch.arange(count, dtype=torch.float32) % 3 + rank
                if rank == source:
                    t[at] = float("nan")
                dist.all_reduce(t, op=op)
                say(name, "float32", count, at, source, "".join(str(int(v)) for v in each(bool(t[at].isnan())) if v is not None))
    t = torch.full((4,), 40000.0, dtype=torch.float16)
    dist.all_reduce(t, op=dist.ReduceOp.AVG)
    say("avg float16", each(float(t[0])))


def finite():
    t = torch.full((4,), 3 + rank, dtype=torch.int32)
    raised = ""
    try:
        dist.all_reduce(t, op=dist.ReduceOp.AVG)
    except RuntimeError as e:
        raised = "raises"
    say("avg int32", each((raised, int(t[0]))))
    t = torch.ones(4, dtype=torch.bool)
    dist.all_reduce(t, op=dist.ReduceOp.SUM)
    say("sum bool", each(t.view(torch.uint8).tolist()))
    t = torch.full((1001,), float(10 ** rank))
    dist.reduce(t, dst=0)
    say("reduce", each(sorted(set(t.tolist()))))


if len(sys.argv) < 2:
    table()
finite()
for step in range(6 if len(sys.argv) > 1 else 0):
    t = torch.full((8,), 1.0 + rank + step)
    if rank == 1 and step == int(sys.argv[1]):
        t[3] = float("nan")
    dist.all_reduce(t, op=dist.ReduceOp.MAX)
    if step == int(sys.argv[1]):
        say("result", each(bool(t.isnan().any())))
dist.destroy_process_group()
