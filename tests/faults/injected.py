# SPDX-License-Identifier: Apache-2.0
"""
The fault of a training in PyTorch (run by faults.py --torch): PROGRAM [KEY=VALUE ...]

fault, rank, step: what goes wrong, where and when; steps, seed, slow_us (of the faults of timing). The rank at fault writes what it
does, as JSON, to stderr.
"""
import json
import os
import random
import signal
import sys
import time

import torch
import torch.distributed as dist

GIVEN = dict(a.split("=", 1) for a in sys.argv[1:])
FAULT, STEPS, SEED = GIVEN.get("fault", "none"), int(GIVEN.get("steps", 14)), int(GIVEN.get("seed", 1))
WHO, WHEN, SLOW = int(GIVEN.get("rank", -1)), int(GIVEN.get("step", -1)), int(GIVEN.get("slow_us", 30000)) / 1e6
turns = random.Random(SEED)


def say_truth(step):
    print("TRUTH " + json.dumps(dict(fault=FAULT, rank=WHO, step=step, site="", api="", pick=0)), file=sys.stderr, flush=True)
    return True


def is_me(fault):
    return fault == FAULT and dist.get_rank() == WHO


def due(fault, step):
    return is_me(fault) and step == WHEN and say_truth(step)


def since(fault, step):
    return is_me(fault) and step >= WHEN and (step > WHEN or say_truth(step))


def hold_up(step):
    """Where a rank computes: what it leaves by, and what it takes longer for."""
    if due("sleep", step):
        time.sleep(1000)
    if due("left", step):
        raise ValueError("a bad sample")
    if due("exits", step):
        os._exit(3)
    if due("killed", step):
        os.kill(os.getpid(), signal.SIGKILL)
    if due("stall", step):
        time.sleep(3)
    if since("slow", step):
        time.sleep(SLOW)
    if since("jitter", step) and turns.random() < 0.5:
        time.sleep(2 * SLOW)


def average(loss, step):
    """The loss of all ranks, by a collective operation of its own."""
    if due("skip", step):
        return
    for _ in range(2 if due("extra", step) else 1):
        t = loss.detach().double() if due("dtype", step) else loss.detach().clone()
        if due("count", step):
            t = torch.stack([t, t])
        dist.all_reduce(t, op=dist.ReduceOp.MAX if due("redop", step) else dist.ReduceOp.SUM)
