"""A job on gloo of which a rank leaves: by an exception, by os._exit(), killed, by a crash, or because memory runs out;
last_exception: killed while it leaves by an exception; late: it comes when the others have given up. leaves.py HOW RANK STEP"""
import atexit
import ctypes
import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

how, who, when = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group("gloo")
t = torch.ones(10)
group = dist.new_group(timeout=datetime.timedelta(seconds=2)) if how == "late" else None


class OwnError(ValueError):
    """Its text comes from code of the program, which the recording must not run."""

    def __str__(self):
        print("asked for its text", flush=True)
        return "own " + super().__str__()


def work(step):
    if dist.get_rank() == who and step == when:
        if how == "last_exception":
            atexit.register(os.kill, os.getpid(), 9)
        if how.endswith("exception"):
            raise OwnError(f"batch {step} is bad")
        if how == "late":
            time.sleep(5)
        if how == "exit":
            os._exit(7)
        if how == "kill":
            os.kill(os.getpid(), 9)
        if how == "crash":
            ctypes.string_at(8)
        full = []
        while how == "memory":
            full.append(b"x" * (1 << 24))
    dist.all_reduce(t, group=group)


for step in range(when + 3):
    work(step)
dist.destroy_process_group()
