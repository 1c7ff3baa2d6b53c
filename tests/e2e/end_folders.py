# SPDX-License-Identifier: Apache-2.0
"""Output folders of jobs that ended in some way, of which every number is made here: end_folders.py DIR CASE... makes DIR/CASE.

4 ranks, 10 steps: an all_reduce and a barrier in each, 100 ms between them. What is special of a case is in its function.
"""
import os
import sys

import columns
from report_folder import BEGIN, WORLD, Rank

RANKS, STEPS, WHO, MS = 4, 10, 2, 10**6
SECOND = 1000 * MS


class Job:
    def __init__(self, top, lib="mpi", run=""):
        self.now, self.number, self.lib = SECOND, 0, lib
        self.ranks = [Rank(top, r, RANKS, run=run, process_start_ns=BEGIN) for r in range(RANKS)]
        for r in self.ranks:
            with open(r.dir + "/stack_info.csv", "w") as f:
                print(",".join(columns.names("stack_info")), file=f)
                for i, line in ((1, "20 train"), (2, "21 train"), (3, "30 prepare")):
                    print(f"{i},MPI_x,0,/home/train.py:{line},", file=f)

    def api(self, op):
        return f"c10d::ProcessGroupGloo::{op}" if self.lib == "c10d" else "MPI_" + op

    def call(self, rank, op, step, start, dur, flags="", number=None, stack=1, tensor=True):
        asynchronous = "async" if self.lib == "c10d" else ""
        rows = [("in", dict(min=step + rank, max=step + rank + 1))] if tensor and op == "all_reduce" else [("", {})]
        self.ranks[rank].call(op, rows, start=start, dur=dur, step=step, lib=self.lib, api=self.api(op), stack_id=stack,
                              comm_seq=self.number if number is None else number, redop="sum" if op == "all_reduce" else "",
                              flags=";".join(filter(None, [asynchronous, flags])))

    def operation(self, op, step, stack=1, ranks=range(RANKS)):
        for r in ranks:
            self.call(r, op, step, self.now + r * 1000, MS, stack=stack)
        self.number += 1
        self.now += 100 * MS

    def step(self, step):
        self.operation("all_reduce", step)
        self.operation("barrier", step, stack=2)

    def write(self, ends, state="finished"):
        """ends: by rank, the member `end` of meta.json; at: ns after BEGIN."""
        for r, end in zip(self.ranks, ends):
            end = dict(code=None, signal=None, inside=None, text="") | end
            end["at_ns"] = BEGIN + end.pop("at", self.now)
            r.write(end=end, last_record_ns=BEGIN + self.now - 100 * MS, state=state, steps=dict(current=STEPS, source="api"))


def late_rank(top):
    """Rank 2 prepares something for 20 s; the others wait 8 s for it, give up and end; then it comes."""
    job = Job(top, "c10d", run="job7")
    job.step(0)
    came = job.now + 20 * SECOND
    for r in range(RANKS):
        start = came if r == WHO else job.now + r * MS
        job.call(r, "all_reduce", 1, start, MS if r == WHO else 8 * SECOND + r * MS, "error:1", stack=3 if r == WHO else 1)
    ended = job.now + 8 * SECOND + 20 * MS
    job.now = came + 100 * MS
    job.write([dict(how="exit", code=1, at=job.now if r == WHO else ended,
                    text="RuntimeError: Connection closed by peer" if r == WHO else "RuntimeError: Timed out waiting 8000ms") for r in range(RANKS)])


CASES = {f.__name__: f for f in (late_rank,)}

if __name__ == "__main__":
    for case in sys.argv[2:]:
        os.makedirs(f"{sys.argv[1]}/{case}")
        CASES[case](f"{sys.argv[1]}/{case}")
