# SPDX-License-Identifier: Apache-2.0
"""moved_folders.py DIR: runs in which one operation of step 8 gives a wrong result: DIR/OP.FAULT, with all numbers by hand; and others
that go one way: DIR/counts.*, DIR/pairs.*.

none: nothing is wrong; result: one rank's result has another number (of a rooted operation the root's, else that of rank 2); input:
what rank 2 put in (of a scatter the root) arrived with another number; lost: what rank 2 put in is missing in all results.
"""
import math
import random
import sys

from report_folder import Rank

RANKS, STEPS, WHEN, WHO, N = 4, 12, 8, 2, 24
ROOT = 0


def sizes(v):
    """What each rank has in an operation with parts of different sizes."""
    return [N + 4 * r if v else N for r in range(RANKS)]


def put_in(op, step):
    ins = []
    for r, n in enumerate(sizes(op.endswith("_v"))):
        draw = random.Random(f"{op} {step} {r}")
        # Of a scatter, or where results are parts, each has a part for every rank.
        n = sum(sizes(op.endswith("_v"))) if "scatter" in op or op.startswith("all_to_all") else n
        ins.append([draw.randint(-10**6, 10**6) / 64 for _ in range(n)])
    return [x if op not in ("scatter", "scatter_v") or r == ROOT else None for r, x in enumerate(ins)]


def add(rows):
    return [sum(v) for v in zip(*rows)]


def cut(row, op):
    parts, at = [], 0
    for n in sizes(op.endswith("_v")):
        parts.append(row[at:at + n])
        at += n
    return parts


def results(op, ins):
    everything = [x for row in ins if row for x in row]
    if op == "scan":
        return [add(ins[:r + 1]) for r in range(RANKS)]
    if op == "exscan":
        return [add(ins[:r]) if r else None for r in range(RANKS)]
    if op == "reduce":
        return [add(ins) if r == ROOT else None for r in range(RANKS)]
    if op.startswith("reduce_scatter"):
        return cut(add(ins), op)
    if op.startswith("scatter"):
        return cut(ins[ROOT], op)
    if op.startswith("all_gather"):
        return [everything] * RANKS
    if op.startswith("gather"):
        return [everything if r == ROOT else None for r in range(RANKS)]
    parts = [cut(row, op) for row in ins]
    return [[x for row in parts for x in row[r]] for r in range(RANKS)]


def columns(values):
    n = len(values)
    return dict(dtype="float64", count=n, bytes=8 * n, min=min(values), max=max(values), mean=sum(values) / n,
                norm=math.sqrt(sum(x * x for x in values)), zeros=values.count(0) / n, nans=0, infs=0)


def spoil(op, fault, ins):
    """The results, of which one is wrong."""
    changed = [list(row) if row else None for row in ins]
    who = ROOT if op.startswith("scatter") and fault == "input" else WHO
    if fault == "input":
        changed[who][5] += 4096
    elif fault == "lost":
        changed[who] = [0.0] * len(changed[who])
    outs = [list(row) if row else None for row in results(op, changed)]
    if fault == "result":
        outs[WHO if outs[WHO] else ROOT][5] += 4096
    return outs


def write_run(top, op, fault):
    ranks = [Rank(top, r, RANKS) for r in range(RANKS)]
    for step in range(STEPS):
        ins = put_in(op, step)
        outs = spoil(op, fault if step == WHEN else "none", ins)
        for r, rank in enumerate(ranks):
            rows = [(io, columns(v[r])) for io, v in (("in", ins), ("out", outs)) if v[r]]
            more = dict(root=ROOT) if op.startswith(("gather", "scatter")) or op == "reduce" else {}
            if "scan" in op or "reduce" in op:
                more["redop"] = "sum"
            rank.call(op, rows, start=step * 10**7 + r * 1000, dur=10**6, step=step, comm_seq=step, dtype="float64", **more)
    for rank in ranks:
        rank.write(steps=dict(current=STEPS, source="api"))


def write_pairs(top, other):
    """Neighbours in a ring: even ranks send integers and get real numbers, odd ones the other way. other: all send real numbers, and WHO
    once what has this type."""
    ranks = [Rank(top, r, RANKS) for r in range(RANKS)]
    for step in range(STEPS):
        for r, rank in enumerate(ranks):
            types = ["float32", "float32"] if other else ["int32", "float32"][::1 if r % 2 == 0 else -1]
            sent = other if other and step == WHEN and r == WHO else types[0]
            draw = random.Random(f"pairs {step} {r}")
            rows = [(io, columns([draw.randint(0, 10**6) for _ in range(2 * N)]) | dict(dtype=t, bytes=8 * N))
                    for io, t in (("in", sent), ("out", types[1]))]
            rank.call("neighbor_all_to_all", rows, start=step * 10**7 + r * 1000, dur=10**6, step=step, comm_seq=step)
    for rank in ranks:
        rank.write(steps=dict(current=STEPS, source="api"))


def write_counts(top, times):
    """A reduction every fifth step, which no rank but the root waits for. times: how often WHO makes that of step 14."""
    ranks = [Rank(top, r, RANKS) for r in range(RANKS)]
    for r, rank in enumerate(ranks):
        made = 0
        for step in range(4, 40, 5):
            ins = put_in("reduce", step)
            for _ in range(times if step == 14 and r == WHO else 1):
                rank.call("reduce", [("in", columns(ins[r]))], start=step * 10**7 + r * 1000 + made, dur=1000, step=step, comm_seq=made,
                          root=ROOT, redop="sum")
                made += 1
        rank.write(steps=dict(current=40, source="api"))


OPS = ["scan", "exscan", "reduce", "gather", "scatter", "gather_v", "scatter_v", "all_gather_v", "reduce_scatter", "reduce_scatter_v", "all_to_all_v"]
FAULTS = ["none", "result", "input", "lost"]

if __name__ == "__main__":
    write_counts(f"{sys.argv[1]}/counts.none", 1)
    write_counts(f"{sys.argv[1]}/counts.more", 2)
    write_counts(f"{sys.argv[1]}/counts.less", 0)
    write_pairs(f"{sys.argv[1]}/pairs.none", "")
    write_pairs(f"{sys.argv[1]}/pairs.type", "int64")
    for name in OPS:
        for wrong in FAULTS:
            # Numbers that are only moved are not missing: another number came.
            if wrong != "lost" or "scan" in name or "reduce" in name:
                write_run(f"{sys.argv[1]}/{name}.{wrong}", name, wrong)
