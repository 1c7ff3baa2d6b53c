#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What mpi_reuse and ccl_reuse must look like: handle_rows.py DIR KIND TURNS REFUSED [CALLS]. Prints what is wrong, and ends with 1 if anything is. The
truth is the program's text: a thread has its own number of elements, values and communicator, and does TURNS times the same.
REFUSED: 1 where some calls that free are refused, and made again. CALLS: their number, by the program's own count. Of `mixed`
the short messages are not recorded.
"""
import collections
import sys

from rows import Output

THREADS, LEN, SHORT = 8, 512, 8
SUMS = ("collective", "comm", "op", "group")  # what comes out is the sum over the ranks
CHILDREN = ("comm", "group", "window", "file")  # each turn has a communicator, window or file of its own
# Rows with a buffer that a thread makes in a turn.
PER_TURN = {"persistent": 4, "window": 1, "ucc": 4}
OTHERS = ("nccl", "nccl_window", "hccl", "ucc")  # ccl_reuse


def lengths(kind):
    return {SHORT + i if kind == "mixed" and i % 2 else LEN - 10 * i: i for i in range(THREADS)}


class Judge:
    def __init__(self, top, kind, turns, refused, calls):
        self.o, self.kind, self.turns, self.refused, self.calls = Output(top), kind, turns, refused, calls
        self.parent = {(c["folder"], c["comm"]): c["parent"] for c in self.o.C}
        self.wrong = []

    def check(self, ok, *what):
        if not ok:
            self.wrong.append(" ".join(str(w) for w in what))

    def value(self, row, thread, members):
        if self.kind == "type":
            return  # nothing is looked at
        sums = row["io"] == "out" and self.kind in SUMS
        v = float(row["max"]) / (members if sums else 1)
        self.check(row["min"] == row["max"] and int(v) // 1000 == thread + 1, "thread", thread, row["api"], row["io"], "has values", row["min"],
                   "to", row["max"])

    def numbers(self, rows, thread):
        """Each communicator's operations are numbered from 0, in the order of the calls."""
        seen = collections.defaultdict(list)
        for r in rows:
            if r["comm_seq"]:
                seen[r["comm"], r["op"], r["tag"], r["io"]].append(int(r["comm_seq"]))
        for key, n in seen.items():
            self.check(sorted(n) == list(range(len(n))), "thread", thread, key, "is numbered", sorted(n)[:20])

    def thread(self, folder, rows):
        ends = collections.Counter(r["flags"] for r in rows if not r["io"] and r["op"] == "recv")
        self.check(ends == ({"async;cancelled": self.turns} if self.kind == "cancel" else {}), folder, "receives that brought nothing:", dict(ends))
        self.check(all(r["comm"] for r in rows), folder, "calls without a communicator:", {r["api"] for r in rows if not r["comm"]})
        rows = [r for r in rows if r["io"]]
        length = collections.Counter(int(r["count"]) for r in rows)
        if self.kind == "type":
            length = collections.Counter(int(r["bytes"]) // 4 for r in rows)
        usual = length.most_common(1)[0][0]
        thread = lengths(self.kind).get(usual)
        self.check(thread is not None and len(length) == 1, folder, "a thread has elements", dict(length))
        if thread is None:
            return None
        want = PER_TURN.get(self.kind, 2) * self.turns
        self.check(len(rows) >= want if self.refused and self.kind in CHILDREN + OTHERS else len(rows) == want,
                   folder, "thread", thread, "has", len(rows), "rows, not", want)
        comms = {r["comm"] for r in rows}
        if self.kind in CHILDREN:
            self.check(len(comms) == self.turns, folder, "thread", thread, "has", len(comms), "communicators, not", self.turns)
            comms = {self.parent.get((folder, c)) for c in comms}
        if self.kind == "ucc":
            self.check(len(comms) == self.turns, folder, "thread", thread, "has", len(comms), "teams, not", self.turns)
            comms = {min(comms)}
        self.check(len(comms) == 1 and "" not in comms, folder, "thread", thread, "has its calls on", comms)
        members = int(rows[0]["size"])
        self.check(len({r["size"] for r in rows}) == 1, folder, "thread", thread, "sizes differ")
        for r in rows:
            self.check(set(filter(None, r["flags"].split(";"))) <= {"async", "derived", "nostats"}, folder, "thread", thread, r["api"], "has flags", r["flags"])
            self.value(r, thread, members)
        if self.kind in OTHERS[:3]:
            return thread, next(iter(comms))  # the same unique id again and again: each communicator counts for itself
        self.numbers(rows, thread)
        return thread, next(iter(comms))

    def run(self):
        for d in self.o.dirs:
            by_thread = collections.defaultdict(list)
            for r in self.o.on(d):
                by_thread[r["thread"]].append(r)
            found = [self.thread(d, rows) for rows in by_thread.values()]
            threads = [i for i in range(THREADS) if self.kind != "mixed" or i % 2 == 0]
            self.check(sorted(f[0] for f in found if f) == threads, d, "has threads", found)
            self.check(len({f[1] for f in found if f}) == len(threads), d, "threads share communicators")
            n = len({r["seq"] for r in self.o.on(d)})
            self.check(self.calls in (None, n), d, "has", n, "calls, not", self.calls)
            dropped = {k: v for k, v in self.o.M[d]["calls"]["dropped"].items() if v}
            self.check(not dropped, d, "dropped", dropped)
        self.check(self.o.dirs, "no folder")
        return self.wrong


def main():
    wrong = Judge(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "1", int(sys.argv[5]) if sys.argv[5:] else None).run()
    print("\n".join(wrong[:20]) or "right")
    sys.exit(1 if wrong else 0)


main()
