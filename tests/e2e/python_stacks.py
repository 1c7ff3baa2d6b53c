# SPDX-License-Identifier: Apache-2.0
"""
Compares the python_stack of each call with what tests/apps/py/stacks.py wrote down.

    python_stacks.py OUTPUT TRUTH.json [--drop REGEX]
"""
import json
import re
import sys

import rows

o = rows.Output(sys.argv[1])
with open(sys.argv[2]) as f:
    truth = json.load(f)
drop = sys.argv[4] if len(sys.argv) > 4 else None
stacks = {s["stack_id"]: s["python_stack"] for s in o.S}
bad = seen = 0


def written(frames):
    kept = [f for f in frames if not (drop and re.search(drop, f"{f[0]}[{f[1]}] {f[2]}"))]
    return " <- ".join(f"{f[0]}:{f[1]} {f[2]}" for f in kept)


for r in rows.calls(o.R):
    if r["api"] != "MPI_Allreduce":
        continue
    have = stacks.get(r["stack_id"])
    frames = truth["calls"].get(r["count"])
    if frames is None:
        if int(r["count"]) != truth["deep"] or not have or not have.endswith(" <- ..."):
            bad += 1
            print(f"call {r['count']}: not a deep stack that ends with dots: {(have or '')[:200]}")
        continue
    seen += 1
    if have != written(frames):
        bad += 1
        if bad < 10:
            print(f"call {r['count']}:\n  have {have[:300] if have else have}\n  want {written(frames)[:300]}")
if seen != len(truth["calls"]):
    bad += 1
    print(f"{seen} calls of {len(truth['calls'])} are recorded")
print(f"{seen} stacks of Python {truth['version']}, {bad} wrong")
sys.exit(bad > 0)
