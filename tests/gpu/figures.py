#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares records with what a program printed of its own buffers:  figures.py OUTPUT PRINTED

The n-th line "figure N IO MIN MAX" belongs to the n-th row of ncclAllReduce. Exit 1 unless most rows are measured (copies
may find no room) and all that are measured agree.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from rows import Output  # noqa: E402

have = [r for r in Output(sys.argv[1]).R if r["api"] == "ncclAllReduce" and "captured" not in r["flags"]]
have.sort(key=lambda r: (int(r["seq"]), r["io"]))
with open(sys.argv[2]) as f:
    want = [line.split() for line in f if line.startswith("figure ")]
measured = wrong = 0
for w, h in zip(want, have):
    if not h["max"]:
        continue
    measured += 1
    if w[2] != h["io"] or float(w[3]) != float(h["min"]) or float(w[4]) != float(h["max"]):
        wrong += 1
        print(f"# {w} is recorded as {h['io']} {h['min']} {h['max']} (seq {h['seq']})")
print(f"# {len(want)} figures, {measured} measured, {wrong} wrong")
sys.exit(wrong or measured * 2 < len(want) or not want)
