#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares records with what a program printed of its own tensors:  figures.py OUTPUT PRINTED

The n-th line "figure OP IO MIN MAX" of an operation belongs to the n-th row of it (as the calls were made; in, then out).
Exit 1 unless most rows are measured (copies may find no room) and all that are measured agree.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from rows import Output  # noqa: E402

have = {}
for r in sorted(Output(sys.argv[1]).R, key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0))):
    if r["io"] and "captured" not in r["flags"]:
        have.setdefault(r["op"], []).append(r)
printed = measured = wrong = 0


def same(want, have, dtype):
    """float32 is printed in 9 digits, what has 64 bits in 17."""
    return float(want) == float(have) if dtype in ("float64", "int64") else abs(float(want) - float(have)) <= 1e-8 * abs(float(want))


with open(sys.argv[2]) as f:
    want = [line.split()[1:] for line in f if line.startswith("figure ")]
for op, io, low, high in want:
    printed += 1
    r = have[op].pop(0) if have.get(op) else None
    if not r:
        wrong += 1
        print(f"# {op} {io} {low} {high}: no row")
        continue
    if not r["max"]:
        wrong += r["io"] != io
        continue
    measured += 1
    if r["io"] != io or not same(low, r["min"], r["dtype"]) or not same(high, r["max"], r["dtype"]):
        wrong += 1
        print(f"# {op} {io} {low} {high} is recorded as {r['io']} {r['min']} {r['max']} ({r['dtype']}, seq {r['seq']})")
print(f"# {printed} figures, {measured} measured, {wrong} wrong")
sys.exit(bool(wrong or measured * 2 < printed or not printed))
