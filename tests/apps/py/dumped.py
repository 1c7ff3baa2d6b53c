# What a dump is to hold: collectives of all shapes of arguments, their tensors kept beside by Python itself, and tensors that
# the program saves by name. Arguments: folder for the truth; `other`: rank 1 gives one collective something else.
import ctypes
import json
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, truth = dist.get_rank(), sys.argv[1]
group = dist.new_group([0, 1])
told = []


def keep(name, side, place, t):
    file = f"{rank}.{len(told)}.pt"
    torch.save(t.clone(), f"{truth}/{file}")
    wide = t.double() if t.dtype.is_floating_point else t
    most, least = (wide.max().item(), wide.min().item()) if t.numel() else (None, None)
    told.append([name, side, place, file, str(t.dtype), list(t.shape), most, least, t.requires_grad])


torch.manual_seed(rank)
n = 0
for dtype in torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.uint8:
    t = (torch.rand(3, 5) * 10).to(dtype)
    keep(f"Distributed.all_reduce.{n}.forward", "input_args", [0], t)
    dist.all_reduce(t, group=group)
    keep(f"Distributed.all_reduce.{n}.forward", "output", [0], t)
    n += 1
parts = [torch.zeros(2), torch.zeros(2)]
mine = torch.rand(2)
keep("Distributed.all_gather.0.forward", "input_args", [1], mine)
dist.all_gather(parts, mine)
for i, p in enumerate(parts):
    keep("Distributed.all_gather.0.forward", "output", [0, i], p)
# Asynchronous: its output is what it is when it is complete, and its number is that of its call.
late = torch.full((4,), float(rank) + (rank if "other" in sys.argv else 0))
keep(f"Distributed.all_reduce.{n}.forward", "input_args", [0], late)
work = dist.all_reduce(late, async_op=True)
between = torch.tensor(float(rank))
keep("Distributed.broadcast.0.forward", "input_args", [0], between) if rank == 0 else None
dist.broadcast(between, src=0)
keep("Distributed.broadcast.0.forward", "output", [0], between)
work.wait()
keep(f"Distributed.all_reduce.{n}.forward", "output", [0], late)
other = torch.zeros(2)
for w in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, 1 - rank), dist.P2POp(dist.irecv, other, 1 - rank)]):
    w.wait()
keep("Distributed.batch_isend_irecv.0.forward", "output", [0, 1], other)
# An empty one; and norms that are inf and 0 where the squares are summed in the tensor's own type.
hard = torch.zeros(0), torch.full((100000,), 300.0, dtype=torch.float16), torch.full((4,), 1e20), torch.full((4,), 1e-30)
for i, t in enumerate(hard):
    keep(f"Distributed.all_to_all_single.{i}.forward", "input_args", [1], t)
    result = torch.empty_like(t)
    dist.all_to_all_single(result, t)
    keep(f"Distributed.all_to_all_single.{i}.forward", "output", [0], result)
big = torch.full((2,), 60000.0, dtype=torch.float16)  # the sum is more than the type can hold
dist.all_reduce(big)
save = getattr(ctypes.CDLL(None), "probe_save", None)
for dtype in torch.float32, torch.bfloat16, torch.uint16, torch.bool:
    t = (torch.rand(2, 3) * 10).to(dtype)
    torch.save(t, f"{truth}/{rank}.saved.{str(dtype)[6:]}.pt")
    if save:
        assert save(b"mine/" + str(dtype)[6:].encode(), ctypes.c_void_p(t.data_ptr()), str(dtype)[6:].encode(), b"(2, 3)") == 0
        assert save(b"mine", ctypes.c_void_p(t.data_ptr()), b"float33", b"2") == -1
json.dump(told, open(f"{truth}/{rank}.json", "w"))
print(rank, late.tolist(), other.numel())
dist.destroy_process_group()
