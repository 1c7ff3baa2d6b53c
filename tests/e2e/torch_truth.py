# SPDX-License-Identifier: Apache-2.0
"""
Compares the rows of process groups with what tests/apps/py/ddp_gloo.py --truth measured in Python: every call that it
made or saw must be there once, with equal statistics; there may be others (those of DDP itself). Completions come in any
order, so the order is not compared.

    torch_truth.py OUTPUT TRUTH
"""
import json
import math
import sys

import rows

o = rows.Output(sys.argv[1])
bad = seen = 0


def number(s):
    return float(s) if s else None


def same(row, want):
    if not want[0]:
        return int(row["count"]) == 0
    have = [int(row["count"])] + [number(row[k]) for k in ("min", "max", "mean", "norm")] + \
        [int(row["nans"] or -1), int(row["infs"] or -1)]
    return all(a is not None and (a == b or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)) for a, b in zip(have, want))


def fits(call, t):
    return call[0]["op"] == t["op"] and all(
        len(side) == len(t[io]) and all(same(r, w) for r, w in zip(side, t[io]))
        for io in ("in", "out")
        for side in [sorted((r for r in call if r["io"] == io), key=lambda r: int(r["index"]))])


for folder in o.dirs:
    with open(f"{sys.argv[2]}.{folder[4:]}") as f:
        truth = json.load(f)
    calls = {}
    for r in o.on(folder):
        calls.setdefault(int(r["seq"]), []).append(r)
    order = [calls[n] for n in sorted(calls)]
    for n, t in enumerate(truth):
        seen += 1
        k = next((k for k, c in enumerate(order) if fits(c, t)), None)
        if k is None:
            bad += 1
            if bad < 5:
                near = [[r[c] for c in ("op", "io", "count", "min", "max", "mean", "norm", "nans", "infs")]
                        for c in order for r in c if r["op"] == t["op"]][:4]
                print(f"{folder}: call {n} of the truth is not recorded: {t}; recorded are: {near}")
        else:
            del order[k]
print(f"{seen} calls, {bad} not recorded or with other statistics")
sys.exit(bad > 0 or not seen)
