"""Two groups of the same two ranks, which begin with different ones: `wait` waits for its first operation before it starts the
second, so that the two ranks wait for each other for ever; `late` starts both, with a pause of 4 s between them, and waits after that."""
import datetime
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=150))
rank = dist.get_rank()
groups = [dist.new_group([0, 1]) for _ in range(2)]
value = torch.arange(8.0) + rank
if rank < 2:
    works = []
    for group in groups if rank == 0 else groups[::-1]:
        works.append(dist.all_reduce(value.clone(), group=group, async_op=True))
        if sys.argv[1] == "wait":
            works[-1].wait()
        else:
            time.sleep(4)
    for work in works:
        work.wait()
dist.barrier()
dist.destroy_process_group()
print(rank, "done", flush=True)
