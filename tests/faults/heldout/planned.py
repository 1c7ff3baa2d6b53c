# SPDX-License-Identifier: Apache-2.0
"""The fault of a training of this room, and its truth, as heldout.c has them for the programs in C."""
import json
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

OPTIONS = dict(w.split("=", 1) for w in sys.argv[1:])


class Call:
    def __init__(self, data, times=1, op=dist.ReduceOp.SUM):
        self.data, self.times, self.op = data, times, op


class Fault:
    """step is counted by the training: the optimizer's steps that are done. skipped: those that a gradient scaler skipped before it."""

    def __init__(self, rank):
        self.rank, self.step, self.skipped, self.done, self.last = rank, 0, 0, False, {}
        self.name, self.pick = OPTIONS.get("fault", ""), int(OPTIONS.get("pick", 0))

    def is_due(self, *names):
        return (not self.done and self.name in names and self.rank == int(OPTIONS["rank"]) and self.step >= int(OPTIONS["step"]))

    def write_truth(self, line):
        self.done = True
        with open(os.environ["HELDOUT_TRUTH"], "a") as f:
            f.write(json.dumps(dict(fault=self.name, site="", rank=self.rank, step=self.step + self.skipped, lines=[line, line],
                                    time=time.time())) + "\n")

    def is_lasting(self, name):
        return self.done and self.name == name and self.rank == int(OPTIONS["rank"])

    def change_values(self, site, data, line):
        """What is sent from this line."""
        flat = data.view(-1)
        k = self.pick % flat.numel()
        before = self.last.get(site)
        if self.name == "stale":
            self.last[site] = flat.clone()
        if self.is_lasting("zero"):
            flat.zero_()
        if not self.is_due("nan", "inf", "big", "zero", "stale") or not flat.abs().max() > 0:
            return
        if self.name == "nan":
            flat[k] = float("nan")
        elif self.name == "inf":
            flat[k] = float("inf")
        elif self.name == "big":
            flat[k] = flat.abs().max() * 1e7
        elif self.name == "zero":
            flat.zero_()
        elif before is None or before.numel() != flat.numel() or torch.equal(before, flat):
            return
        else:
            flat.copy_(before)
        self.write_truth(line)

    def change_call(self, data, line):
        """How a call in this line is made."""
        call = Call(data)
        if not self.is_due("skip", "extra", "less", "dtype", "op"):
            return call
        if self.name == "less" and data.numel() < 4:
            return call
        self.write_truth(line)
        if self.name == "skip":
            call.times = 0
        elif self.name == "extra":
            call.times = 2
        elif self.name == "less":
            call.data = data[:-1]
        elif self.name == "dtype":
            call.data = data.to(torch.int32)
        elif self.name == "op":
            call.op = dist.ReduceOp.MAX
        return call

    def change_loss(self, loss, line):
        """A batch with wrong labels: the loss is many times as large."""
        if not self.is_due("loss"):
            return loss
        self.write_truth(line)
        return loss * (5, 12, 60)[self.pick % 3]

    def part(self, parameter, line):
        if self.is_due("drift"):
            with torch.no_grad():
                parameter.view(-1)[self.pick % parameter.numel()] += 0.05
            self.write_truth(line)

    def go(self, line):
        """Where a rank ends, hangs or is late."""
        if self.is_lasting("slow"):
            time.sleep(0.15)
        if not self.is_due("kill", "exit1", "raise", "sleep", "slow"):
            return
        self.write_truth(line)
        if self.name == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.name == "exit1":
            os._exit(1)
        elif self.name == "raise":
            raise ValueError("a batch that cannot be read")
        while self.name == "sleep":
            time.sleep(1)


def line():
    return sys._getframe(1).f_lineno


def start():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(int(OPTIONS.get("seed", 1)))
    return dist.get_rank(), dist.get_world_size()


def read_sizes():
    """Width of the model and number of steps."""
    return int(OPTIONS.get("size", 2)), int(OPTIONS.get("steps", 18))


def check_fall(rank, losses):
    if not min(losses[-3:]) < losses[0]:
        print(f"rank {rank}: losses did not fall: {losses}", file=sys.stderr)
