# SPDX-License-Identifier: Apache-2.0
"""
DistributedDataParallel on the CPU with gloo, a data loader with workers, and each of the other collectives once, under
torchrun. Prints losses with all digits.

    ddp_gloo.py [--steps N] [--accumulate N] [--workers N] [--truth FILE]

--truth: writes what Python-level hooks see of each collective: functions of torch.distributed are replaced, the DDP
communication hook is registered. That is how a tool inside Python does it, so this changes nothing that libprobe sees.
"""
import argparse
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--accumulate", type=int, default=1)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--truth")
args = parser.parse_args()

torch.manual_seed(1)
torch.set_num_threads(1)
dist.init_process_group("gloo")
modern = not torch.__version__.startswith("1.")  # 1.13's gloo has neither reduce_scatter nor the forms on one tensor
rank, size = dist.get_rank(), dist.get_world_size()
truth = []


def say(text):
    sys.stdout.write(text + "\n")  # print() writes the end of the line by itself
    sys.stdout.flush()


def measure(t):
    """As the columns of the CSV say, computed in double by PyTorch itself."""
    x = t.detach().double().flatten()
    if not x.numel():
        return [0]
    fine = x[~x.isnan()]
    return [x.numel(), fine.min().item(), fine.max().item(), fine.mean().item(), fine.norm().item(),
            int(x.isnan().sum()), int(x.isinf().sum())]


def note(op, ins, outs):
    truth.append({"op": op, "in": [measure(t) for t in ins], "out": [measure(t) for t in outs]})


def collective(op, ins, outs, call):
    """Makes a call whose input and output are known."""
    before = [t.clone() for t in ins]
    call()
    note(op, before, outs)


def train():
    model = torch.nn.Sequential(torch.nn.Linear(10, 40), torch.nn.ReLU(), torch.nn.Linear(40, 30), torch.nn.Tanh(),
                                torch.nn.Linear(30, 1))
    ddp = DDP(model, bucket_cap_mb=0.003)
    x = torch.randn(size * 8 * args.steps * args.accumulate, 10)
    data = TensorDataset(x, x.sum(1, keepdim=True).sin())
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False),
                        num_workers=args.workers)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=1e-2)

    if args.truth:
        def hook(_, bucket):
            buffer = bucket.buffer()
            buffer.div_(size)
            before = buffer.clone()
            future = dist.all_reduce(buffer, async_op=True).get_future()
            return future.then(lambda f: (note("all_reduce", [before], [f.value()[0]]), f.value()[0])[1])

        ddp.register_comm_hook(None, hook)
    for n, (xb, yb) in enumerate(loader):
        last = (n + 1) % args.accumulate == 0
        ddp.require_backward_grad_sync = last
        loss = torch.nn.functional.mse_loss(ddp(xb), yb)
        loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
        say(f"[{rank}] loss {n} {loss.item():.17g}")


def reduce_scatters():
    rs, whole = torch.empty(3), torch.arange(3.0 * size) + rank
    before = whole.clone()
    collective("reduce_scatter", [whole], [rs], lambda: dist.reduce_scatter_tensor(rs, whole))
    split = [before[3 * n:3 * n + 3].clone() for n in range(size)]
    collective("reduce_scatter", split, [rs], lambda: dist.reduce_scatter(rs, split))
    say(f"[{rank}] reduce_scatter {rs.tolist()}")
    # Its Work copies the result when it is waited for: two at once, the later one first, and one of them twice.
    pair = [torch.full((2 * size,), float(n + 1)) for n in range(2)]
    outs = [torch.zeros(2) for _ in pair]
    works = [dist.reduce_scatter_tensor(o, t, async_op=True) for o, t in zip(outs, pair)]
    for w in (works[1], works[0], works[1]):
        say(f"[{rank}] {type(w).__name__} {w.wait()} {[o.tolist() for o in outs] if w is works[0] else ''}")
    # No rank waits for these; the one after them is waited for twice.
    del w, works
    for _ in range(3):
        dist.reduce_scatter_tensor(torch.zeros(2), torch.ones(2 * size), async_op=True)
    w = dist.reduce_scatter_tensor(outs[0], pair[0], async_op=True)
    w.wait()
    w.wait()
    note("reduce_scatter", [pair[0]], [outs[0]])
    for n, t in enumerate(outs):
        note("reduce_scatter", [torch.full((2 * size,), float(n + 1))], [t])


def others():
    """Every collective once, on all ranks and on a group of its own."""
    evens = dist.new_group(list(range(0, size, 2)))
    t = torch.arange(12.0).reshape(3, 4) + rank
    collective("all_reduce", [t], [t], lambda: dist.all_reduce(t))
    strided = torch.arange(24, dtype=torch.float64).reshape(4, 6).t()[1:4] * (rank + 1)
    collective("broadcast", [strided] if rank == 1 else [], [strided], lambda: dist.broadcast(strided, 1))
    m = torch.tensor([rank, 7, -rank], dtype=torch.int32)
    collective("reduce", [m], [m] if rank == 1 else [], lambda: dist.reduce(m, 1, op=dist.ReduceOp.MAX))
    parts = [torch.empty(5) for _ in range(size)]
    own = torch.full((5,), float(rank))
    own[2] = float("nan")
    collective("all_gather", [own], parts, lambda: dist.all_gather(parts, own))
    flat = torch.empty(5 * size, dtype=torch.bfloat16)
    bf = torch.full((5,), rank + 0.5, dtype=torch.bfloat16)
    if modern:
        collective("all_gather", [bf], [flat], lambda: dist.all_gather_into_tensor(flat, bf))
    got = [torch.empty(2, 2) for _ in range(size)] if rank == 0 else None
    mine = torch.full((2, 2), 1.5 * rank)
    collective("gather", [mine], got or [], lambda: dist.gather(mine, got, 0))
    to = torch.empty(3)
    lists = [torch.full((3,), 10.0 + i) for i in range(size)] if rank == 0 else None
    collective("scatter", lists or [], [to], lambda: dist.scatter(to, lists, 0))
    a, b = torch.arange(4.0 * size) + rank, torch.empty(4 * size)
    collective("all_to_all", [a], [b], lambda: dist.all_to_all_single(b, a))
    if modern:
        reduce_scatters()
    if rank % 2 == 0:
        e = torch.full((2,), 3.0)
        collective("all_reduce", [e], [e], lambda: dist.all_reduce(e, group=evens))
    p = torch.full((6,), float(rank))
    if rank == 0:
        dist.send(p, 1, tag=5)
        note("send", [p], [])
    elif rank == 1:
        dist.recv(p, 0, tag=5)
        note("recv", [], [p])
    dist.barrier()
    note("barrier", [], [])
    dist.monitored_barrier()
    note("barrier", [], [])
    w = torch.ones(3)
    work = dist.all_reduce(w, async_op=True)
    say(f"[{rank}] wait {work.wait()} {work.is_completed()} {w.tolist()}")
    try:
        dist.all_reduce(torch.ones(2).to_sparse(), op=dist.ReduceOp.MAX)
    except RuntimeError as e:
        say(f"[{rank}] error {type(e).__name__} {str(e).splitlines()[0][:80]}")
    try:
        torch.nn.functional.linear(torch.ones(2, 3), torch.ones(2, 4))
    except RuntimeError as e:
        say(f"[{rank}] error {type(e).__name__} {str(e).splitlines()[0][:80]}")


train()
others()
if args.truth:
    with open(f"{args.truth}.{rank}", "w") as f:
        json.dump(truth, f)
dist.barrier()  # no rank leaves while another one still needs it
dist.destroy_process_group()
say(f"[{rank}] ddp_gloo: ok")
os._exit(0)  # gloo threads that need the GIL while the interpreter ends abort it, without libprobe too (PyTorch issues 38228, 190489)
