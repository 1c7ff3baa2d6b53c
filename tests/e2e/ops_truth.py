# SPDX-License-Identifier: Apache-2.0
"""
Compares operators' rows with what tests/apps/py/ops.py --truth measured: each call it knows of, in order.

    ops_truth.py OUTPUT TRUTH.json
"""
import json
import math
import sys

import rows

o = rows.Output(sys.argv[1])
with open(sys.argv[2]) as f:
    truth = json.load(f)
calls = {}
for r in o.R:
    calls.setdefault(int(r["seq"]), []).append(r)
order = [calls[n] for n in sorted(calls)]


def same(row, want):
    shape = "x".join(map(str, want[0])) or "-"
    if row["shape"] != shape:
        return False
    if len(want) == 2:
        return int(row["count"]) == want[1]
    if not row["min"]:
        return False
    have = [int(row["count"])] + [float(row[k]) for k in ("min", "max", "mean", "norm")] + [int(row["nans"]), int(row["infs"])]
    return all(a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
               for a, b in zip(have, want[1:]))


def why(call, t):
    for io in ("in", "out"):
        side = sorted((r for r in call if r["io"] == io), key=lambda r: int(r["index"]))
        if len(side) != len(t[io]):
            return f"{len(side)} {io} tensors, not {len(t[io])}"
        for r, w in zip(side, t[io]):
            if not same(r, w):
                return f"{io} {r['index']}: " + str([r[k] for k in ("shape", "count", "min", "max", "mean", "norm", "nans", "infs")]) + f" not {w}"
    return None


bad = at = 0
for t in truth:
    reason = "not recorded"
    for k in range(at, len(order)):
        if order[k][0]["op"] == t["op"]:
            reason = why(order[k], t)
            if reason is None:
                at = k + 1
                break
    if reason:
        bad += 1
        print(f"{t['op']}: {reason}")
print(f"{len(truth)} operators, {bad} wrong")
sys.exit(bad > 0 or not truth)
