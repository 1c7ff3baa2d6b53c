# SPDX-License-Identifier: Apache-2.0
"""Folders of a Monte Carlo program with a work counter, made by hand: how often a rank fetches a piece of work is chance, and so is
what follows what. work_folders.py DIR makes of each fault, on rank 1 in step 9, a folder:

DIR/healthy   none
DIR/redop     another reduction
DIR/root      another root
DIR/dtype     another type
DIR/skipped   no reduction is made, and all later calls of that rank meet others' next ones
"""
import os
import random
import sys

from report_folder import BEGIN, Rank

S, STEPS, RANKS, ODD = 10**9, 14, 4, 9
WINDOW = "22222222222222b2"


def make(top, fault):
    rng = random.Random(5)
    ranks = [Rank(top, r, RANKS, first_record_ns=BEGIN, last_record_ns=BEGIN + STEPS * S, steps=dict(current=STEPS, source="api"))
             for r in range(RANKS)]
    number = [0] * RANKS

    def collective(k, i, line, at, op, rows, **more):
        k.call(op, rows, at, 10**6, step=i, comm_seq=number[k.rank], stack_id=line, **more)
        number[k.rank] += 1

    for i in range(STEPS):
        for k in ranks:
            odd, at = k.rank == 1 and i == ODD, i * S + k.rank * 1000
            collective(k, i, 1, at, "barrier", None)
            # Rank 2 has had one piece a step so far, and two in the step before the fault: chance as well.
            for n in range(rng.randint(1, 3) if k.rank != 2 else 1 + (i == ODD - 1)):
                for line, op in ((2, "win_lock"), (3, "win_unlock")):
                    k.call(op, None, at + (2 * n + line) * 10**7, comm=WINDOW, peer=0, step=i, stack_id=line)
            value, late = dict(mean=i + k.rank / 8), at + S // 2
            kind = dict(dtype="int32") if odd and fault == "dtype" else {}
            if not (odd and fault == "skipped"):
                collective(k, i, 4, late, "all_reduce", [("in", value | kind), ("out", dict(mean=i) | kind)],
                           redop="max" if odd and fault == "redop" else "sum")
            root = 1 if odd and fault == "root" else 0
            collective(k, i, 5, late + S // 8, "broadcast", [("in" if k.rank == root else "out", dict(mean=i))], root=root)
    for k in ranks:
        k.write()


for name in ("healthy", "redop", "root", "dtype", "skipped"):
    os.makedirs(f"{sys.argv[1]}/{name}")
    make(f"{sys.argv[1]}/{name}", name)
