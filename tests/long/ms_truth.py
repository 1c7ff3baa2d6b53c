# SPDX-License-Identifier: Apache-2.0
"""
Compares kernels' rows with what tests/apps/py/ms_kernels.py --truth heard of MindSpore: each kernel that it knows of must be there, in
order, with the tensors that it was given and gave back among its own ones (a kernel has more: its flags are tensors, too).

    ms_truth.py OUTPUT TRUTH.json
"""
import json
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import rows  # noqa: E402

o = rows.Output(sys.argv[1])
with open(sys.argv[2]) as f:
    truth = json.load(f)
calls = {}
for r in o.R:
    calls.setdefault(int(r["seq"]), []).append(r)
# Threads number their calls by themselves.
order = sorted(calls.values(), key=lambda call: int(call[0]["start_ns"]))


def same(row, want):
    count = math.prod(want["shape"])
    if row["shape"] != ("x".join(map(str, want["shape"])) or "-") or row["dtype"] != want["dtype"] or int(row["count"]) != count:
        return False
    if not row["min"] or int(row["nans"]) != want["nans"] or int(row["infs"]) != want["infs"]:
        return False
    return want["values"][0] is None or all(
        math.isclose(float(row[k]), v, rel_tol=1e-6, abs_tol=1e-9) for k, v in zip(("min", "max", "mean", "norm"), want["values"]))


def why(call, t):
    for io in ("in", "out"):
        side = sorted((r for r in call if r["io"] == io), key=lambda r: int(r["index"]))
        for w in t[io]:
            if not any(same(r, w) for r in side):
                return f"{io}: {w} is not among " + str(
                    [[r[k] for k in ("shape", "dtype", "count", "min", "max", "mean", "norm", "nans", "infs")] for r in side])
    for column in ("step", "phase"):
        if column in t and call[0][column] != str(t[column]):
            return f"{column}: {call[0][column]}, not {t[column]}"
    return None


bad = at = 0
for t in truth:
    reason = "not recorded"
    for k in range(0 if "step" in t else at, len(order)):  # an optimizer's kernels have an order of their own
        if order[k][0]["op"] == t["op"]:
            now = why(order[k], t)
            reason = now if reason == "not recorded" or not now else reason
            if now is None:
                at = at if "step" in t else k + 1
                break
    if reason:
        bad += 1
        print(f"{t['op']}: {reason}")
print(f"{len(truth)} kernels, {bad} wrong")
sys.exit(bad > 0 or not truth)
