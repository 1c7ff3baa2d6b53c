# SPDX-License-Identifier: Apache-2.0
"""
Processes as PyTorch programs start and restart them.

    processes.py spawn              two processes by torch.multiprocessing.spawn, ranks by argument, no RANK anywhere
    processes.py restart FOLDER     under torchrun --max-restarts 1: rank 1 fails in the third step of the first attempt
"""
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(rank, first, steps, fail_at=-1, saved=None):
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = DDP(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if first:
        model.load_state_dict(torch.load(saved))
    for n in range(first, steps):
        x = torch.randn(16, 8, generator=torch.Generator().manual_seed(100 * n + rank))
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        if n == fail_at:
            raise ValueError("lost a disk")
        sys.stdout.write(f"[{rank}] loss {n} {loss.item():.17g}\n")
        sys.stdout.flush()
        if saved and rank == 0 and n + 1 == 2:
            torch.save(model.state_dict(), saved)
        dist.barrier()


def spawned(rank, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    train(rank, 0, 4)
    dist.barrier()
    dist.destroy_process_group()
    sys.stdout.flush()
    os._exit(0)  # see tests/apps/train_ddp.py


def spawn():
    import socket
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    torch.multiprocessing.spawn(spawned, (port,), nprocs=2)
    sys.stdout.write("spawn: ok\n")


def restart(folder):
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    # A store of this attempt alone: in torchrun's, PyTorch 2.13 now and then finds the addresses of the first attempt.
    store = dist.FileStore(os.path.join(folder, f"store{attempt}"), size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    saved = os.path.join(folder, "model.pt")
    train(rank, 2 if attempt else 0, 4, fail_at=2 if attempt == 0 and rank == 1 else -1, saved=saved)
    dist.destroy_process_group()
    sys.stdout.write(f"[{rank}] restart: ok in attempt {attempt}\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        spawn()
    else:
        restart(sys.argv[2])
