#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares rows of Ascend's operators with what tests/apps/aclnn_calls.c wrote of each tensor:  aclnn_truth.py OUTPUT TRUTH [PATTERN]

Statistics are compared where the program had one thread: all of them in a run without streams (--all), else those that there are.
"""
import collections
import itertools
import re
import sys

from blas_truth import COLUMNS, same
from rows import Output

STATISTICS = ("--all" in sys.argv) + ("--any" in sys.argv)


def truth_calls(path, pattern):
    """(name, said, tensors) of each call in order; a tensor: io, index, dtype, shape, count, bytes, comm, then its statistics."""
    tensors = []
    with open(path, encoding="ascii") as f:
        for name, said, *rest in (line.split() for line in f):
            if name == "none":
                continue
            if rest:
                tensors.append(rest)
                continue
            if re.search(pattern, name):
                yield name, said, tensors
            tensors = []


def output_calls(out):
    rows = sorted((r for r in out.R if r["lib"] == "acl"), key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0)))
    comms = {c["comm"] for c in out.C if c["lib"] == "hccl" and c["size"] == "1" and c["name"].startswith("comm_of_")}
    for _, group in itertools.groupby(rows, lambda r: r["seq"]):
        group = list(group)
        said = "refused" if "error:161002" in group[0]["flags"] else "accepted"
        yield group[0]["api"], said, [[r["io"], r["index"], r["dtype"], r["shape"], r["count"], r["bytes"],
                                       "none" if not r["comm"] else "comm" if r["comm"] in comms else r["comm"], r]
                                      for r in group if r["io"]]


def statistics_differ(row, stats):
    if not any(row[c] for c in COLUMNS):
        return STATISTICS == 2 and stats != ["none"]
    return stats == ["none"] or row["nans"] != stats[5] or any(
        not same(row[c], w, "float32", float(stats[0]), float(stats[1])) for c, w in zip(COLUMNS, stats))


def main():
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    want = list(truth_calls(paths[1], paths[2] if len(paths) > 2 else "."))
    have = list(output_calls(Output(paths[0])))
    wrong = 0
    plain = [[(n, s, tuple(tuple(t[:7]) for t in ts)) for n, s, ts in calls] for calls in (have, want)]
    for what, n in (("too many", collections.Counter(plain[0]) - collections.Counter(plain[1])),
                    ("missing", collections.Counter(plain[1]) - collections.Counter(plain[0]))):
        for call, times in list(n.items())[:5]:
            print(what, times, call)
        wrong += sum(n.values())
    known = 0
    if STATISTICS and not wrong:
        for (name, _, got), (_, _, asked) in zip(have, want):
            for g, a in zip(got, asked):
                known += bool(g[7]["min"])
                if statistics_differ(g[7], a[7:]):
                    print(name, g[:7], {c: g[7][c] for c in COLUMNS}, a[7:], g[7]["flags"])
                    wrong += 1
    print(f"{len(want)} calls, {wrong} wrong; statistics of {known} tensors")
    return wrong or not want


sys.exit(1 if main() else 0)
