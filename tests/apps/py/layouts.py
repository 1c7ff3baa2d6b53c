# SPDX-License-Identifier: Apache-2.0
"""
Collectives of tensors of one shape: all ranks alike (transposed, channels last, a column of one), in step 3 rank 1's another way, or views with gaps.

    torchrun --nproc_per_node 2 layouts.py alike|apart|gaps
"""
import sys

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(5):
    apart = sys.argv[1] == "apart" and step == 3 and rank == 1
    plain = torch.arange(6.0).reshape(2, 3) + step
    transposed = plain.t().contiguous().t()
    image = (torch.arange(8.0).reshape(1, 2, 2, 2) + step).to(memory_format=torch.channels_last)
    some = torch.arange(12.0)
    view = some[::2] if sys.argv[1] == "gaps" and step == 3 else some[:6]
    row = torch.ones(3, 1)[:, 0:1].t()
    dist.all_reduce(transposed if apart else plain)
    dist.all_reduce(transposed)
    dist.broadcast(image, 0)
    dist.all_reduce(view)
    dist.all_reduce(row)
    parts = [torch.empty(2, 3), torch.empty(3, 2).t()]
    dist.all_gather(parts if rank else parts[::-1], plain)
    print(rank, step, *(round(t.double().sum().item(), 3) for t in (plain, transposed, image, some, row)), plain.tolist(), flush=True)
dist.destroy_process_group()
