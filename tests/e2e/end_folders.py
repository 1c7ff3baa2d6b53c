# SPDX-License-Identifier: Apache-2.0
"""Output folders of jobs that ended in some way, of which every number is made here: end_folders.py DIR CASE... makes DIR/CASE.

4 ranks, 10 steps: an all_reduce and a barrier in each, 100 ms between them. What is special of a case is in its function.
"""
import os
import socket
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
        """ends: by rank, the member `end` of meta.json; at: ns after BEGIN. state: of all ranks, or a list, by rank."""
        states = [state] * RANKS if isinstance(state, str) else state
        for r, end, state in zip(self.ranks, ends, states):
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


def steps(job):
    for step in range(STEPS):
        job.step(step)


def exit_code_of_all(top):
    """Who has started them ends them when all is done, and each process exits with code 1: as Ray's actors."""
    job = Job(top, "c10d")
    steps(job)
    job.write([dict(how="exit", code=1, at=job.now + 500 * MS + (r != WHO) * 4 * MS) for r in range(RANKS)])


def late_exception(top):
    """Rank 2 raises, closes its connections and ends 2 s later; the others' all_reduce fails before."""
    job = Job(top, "c10d")
    steps(job)
    for r in range(RANKS):
        if r != WHO:
            job.call(r, "all_reduce", STEPS, job.now, 50 * MS, "error:1")
    job.write([dict(how="exception", code=1, at=job.now + (2050 * MS if r == WHO else 60 * MS),
                    text="ValueError: bad batch" if r == WHO else "RuntimeError: Connection closed by peer") for r in range(RANKS)])


def crash_at_exit(top):
    """One process aborts while its libraries are taken down; the others end well."""
    job = Job(top, "c10d")
    steps(job)
    job.write([dict(how="abort", signal=6, text="abort", at=job.now) if r == WHO else dict(how="exit", code=0, at=job.now) for r in range(RANKS)])


def exit_code_of_one(top):
    """One rank exits with a code between two operations, and a launcher ends the others before they come to the next one."""
    job = Job(top)
    steps(job)
    job.write([dict(how="exit", code=3, at=job.now - 60 * MS) if r == WHO else dict(how="signal", text="gone", at=job.now - 20 * MS) for r in range(RANKS)],
              state="recovered")


def left_while_others_wait(top):
    """One rank exits with a code, and the others wait for it."""
    job = Job(top)
    steps(job)
    for r in range(RANKS):
        if r != WHO:
            job.call(r, "all_reduce", STEPS - 1, job.now, "", "open")
    job.now += 2 * SECOND
    job.write([dict(how="exit", code=3, at=job.now - 1900 * MS) if r == WHO else dict(how="signal", text="gone", at=job.now) for r in range(RANKS)],
              state="recovered")


def exit_with_a_call_under_way(top):
    """One rank starts an operation and exits with a code; a launcher ends the others, which have started the next one as well."""
    job = Job(top)
    steps(job)
    for r in range(RANKS):
        job.call(r, "all_reduce", STEPS - 1, job.now, "", "async;open")
    job.number += 1
    for r in (0, 1):
        job.call(r, "barrier", STEPS - 1, job.now + 5 * MS, "", "async;open", stack=2)
    job.now += 30 * MS
    job.write([dict(how="exit", code=3, at=job.now - 20 * MS) if r == WHO else dict(how="signal", text="gone", at=job.now - 10 * MS) for r in range(RANKS)],
              state="recovered")


def stood_and_was_killed(top, lead=60):
    """Rank 2 has gone on to a barrier, the others wait for their all_reduce; after 14 s all are killed, one after the other."""
    job = Job(top, "c10d")
    job.step(0)
    job.now += 8 * SECOND  # it compiled
    for step in range(1, STEPS):
        job.step(step)
    for r in range(RANKS):
        job.call(r, "barrier" if r == WHO else "all_reduce", STEPS - 1, job.now + r * 1000, "", "open", stack=2 if r == WHO else 1)
    job.now += 14 * SECOND
    job.write([dict(how="signal", text="gone", at=job.now + (lead * MS if r else 0)) for r in range(RANKS)], state="recovered")


def work_and_end(top, hosts, ends, waiting=(0, 1)):
    """Ranks wait for 3 ms in an all_reduce for the others, which compute, when signals end all: hosts and ends (ms) by rank."""
    job = Job(top)
    steps(job)
    for r in waiting:
        job.call(r, "all_reduce", STEPS - 1, job.now + r * 1000, "", "open")
    job.now += 3 * MS
    for rank, host in zip(job.ranks, hosts):
        rank.meta["owner"] = dict(rank.meta["owner"], host=host)
        if host == "here":
            with open("/proc/sys/kernel/random/boot_id") as f:
                rank.meta["owner"] |= dict(host=socket.gethostname(), boot_id=f.read().strip())
    job.write([dict(how="signal", text="gone", at=job.now + at * MS) for at in ends], state="recovered")


def all_at_once(top):
    """One signal ended all ranks: two of them one tick later."""
    work_and_end(top, "aaaa", (0, 4, 0, 4))


def all_on_two_hosts(top):
    """A scheduler ended all ranks of two hosts: some ms lie between any two of them."""
    work_and_end(top, "aabb", (8, 0, 4, 0))


def others_continued(top):
    """As with ULFM: a signal ends rank 2 in step 5; the others do the rest without it, and finalize."""
    job = Job(top)
    others = [r for r in range(RANKS) if r != WHO]
    for step in range(STEPS):
        job.operation("all_reduce", step, ranks=range(RANKS) if step < STEPS // 2 else others)
        if step == STEPS // 2 - 1:
            died = job.now
    job.write([dict(how="signal", text="gone", at=died) if r == WHO else dict(how="finalized", code=0) for r in range(RANKS)],
              ["recovered" if r == WHO else "finished" for r in range(RANKS)])


def first_host(top):
    """All ranks of host b ended, and a launcher ended the others a second later."""
    work_and_end(top, "aabb", (1000, 1002, 4, 0))


def first_of_host(top):
    """One rank of host b ended, and a launcher ended the others, which waited for it."""
    work_and_end(top, "aabb", (1000, 1002, 1000, 0), (0, 1, 2))


def awaited_first(top):
    """The rank for which all others waited ended long before them, where ranks may share cores."""
    work_and_end(top, ["here"] * RANKS, (44, 46, 45, 0), (0, 1, 2))


def awaited_among_others(top):
    """The same, but the others ended as far from one another."""
    work_and_end(top, ["here"] * RANKS, (8, 16, 30, 0), (0, 1, 2))


def started_and_not_complete(top):
    """Rank 0 waits for a message that no rank sends; the others have started an all_reduce, and wait for it where nothing is recorded."""
    job = Job(top, "c10d")
    steps(job)
    for r in range(1, RANKS):
        job.call(r, "all_reduce", STEPS - 1, job.now + r * 1000, "", "open")
    job.ranks[0].call("recv", [("", dict(await_dtype="float32", await_count=2))], start=job.now, dur="", step=STEPS - 1, lib="c10d", api=job.api("recv"),
                      peer=1, tag=0, comm_seq=0, stack_id=3, flags="open")
    job.now += 14 * SECOND
    job.write([dict(how="signal", text="gone", at=job.now + r * 2 * MS) for r in range(RANKS)], state="recovered")


CASES = {f.__name__: f for f in (late_rank, exit_code_of_all, late_exception, crash_at_exit, exit_code_of_one, left_while_others_wait, exit_with_a_call_under_way, stood_and_was_killed,
                                 started_and_not_complete, all_at_once, all_on_two_hosts, others_continued, first_host, first_of_host,
                                 awaited_first, awaited_among_others)}

if __name__ == "__main__":
    for case in sys.argv[2:]:
        os.makedirs(f"{sys.argv[1]}/{case}")
        CASES[case](f"{sys.argv[1]}/{case}")
