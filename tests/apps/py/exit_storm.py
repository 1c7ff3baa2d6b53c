# SPDX-License-Identifier: Apache-2.0
"""Trainings of two ranks that end without destroy_process_group, one after the other: prints how each of them ended.

Usage: exit_storm.py ROUNDS [SECONDS]. Ranks are forked from a process that has imported torch, so that a round takes a
fraction of a second; they leave by the interpreter's own end, with all destructors. They meet at a socket that the parent
listens on, and one that has not ended after 120 s is ended by its alarm. SECONDS: no round begins later than that."""
import collections
import datetime
import os
import signal
import socket
import sys
import time

import torch
import torch.distributed as dist

LIMIT = 120
torch.set_num_threads(1)


def rounds(n, seconds):
    """In the parent: None when all are done. In a child: (rank, port, descriptor that listens on it)."""
    ended = collections.Counter()
    until = time.monotonic() + seconds
    for _ in range(n):
        if time.monotonic() > until:
            break
        with socket.create_server(("127.0.0.1", 0)) as listening:
            pids = []
            for rank in range(2):
                pid = os.fork()
                if pid == 0:
                    signal.alarm(LIMIT)
                    return rank, listening.getsockname()[1], listening.detach()
                pids.append(pid)
        for pid in pids:
            status = os.waitpid(pid, 0)[1]
            ended[os.waitstatus_to_exitcode(status)] += 1
    print(" ".join("%d:%d" % e for e in sorted(ended.items())), flush=True)
    return None


child = rounds(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1e9)
if child:
    rank, port, fd = child
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    store = dist.TCPStore("127.0.0.1", port, 2, rank == 0, datetime.timedelta(seconds=LIMIT),
                          master_listen_fd=fd if rank == 0 else None)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    t = torch.full((1000,), float(rank + 1))
    dist.all_reduce(t)
    assert t[0].item() == 3
