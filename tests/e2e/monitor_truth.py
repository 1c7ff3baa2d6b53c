# SPDX-License-Identifier: Apache-2.0
"""
Compares a folder of format monitor with what else is known: kinds with the CSV files of the same run (which other tests compare with
the training's own truth), communication with sums over the rows of its calls, made here.

    monitor_truth.py RANK-FOLDER MONITOR-FOLDER RANK NDIGITS

Prints what differs; exit 1 if something does.
"""
import csv
import glob
import math
import os
import sys
from collections import defaultdict

rank_dir, monitor_dir, rank, ndigits = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
wrong, compared = [], 0


def rows(folder, word):
    out = []
    for f in sorted(glob.glob(os.path.join(folder, word + "_*-*.csv"))):
        if os.path.basename(f).rsplit("_", 1)[0] == word:
            out += list(csv.DictReader(open(f)))
    return out


def same(a, b, bad):
    if a in ("", "nan") or b in ("", "nan"):
        return a == b or (bad and a == "nan")
    a, b = float(a), float(b)
    if ndigits >= 0:
        return abs(a - b) <= 0.5000001 * 10 ** -ndigits + 1e-8 * abs(b)
    return math.isclose(a, b, rel_tol=1e-8, abs_tol=0)


def compare(what, got, want, columns, bad):
    global compared
    for c in columns:
        if c in got and c in want:
            compared += 1
            if not same(got[c], want[c], bad):
                wrong.append("%s: %s is %s, not %s" % (what, c, got[c], want[c]))


OPS = ["min", "max", "mean", "norm", "zeros", "nans"]
for word in ("param_origin", "param_updated", "grad_unreduced", "grad_reduced", "exp_avg", "exp_avg_sq", "actv", "actv_grad"):
    ours = {(r["name"], r["step"], r.get("micro_step", "")): r for r in rows(rank_dir, word)}
    theirs = {(r["name"], r["step"], r.get("micro_step", "")): r for r in rows(monitor_dir, word)}
    if set(ours) != set(theirs):
        wrong.append("%s: rows differ: %s" % (word, sorted(set(ours) ^ set(theirs))[:4]))
    for key in set(ours) & set(theirs):
        if list(theirs[key])[:3] != ["vpp_stage", "name", "step"] or list(theirs[key])[-2:] != ["shape", "dtype"]:
            wrong.append("%s: header %s" % (word, list(theirs[key])))
        compare("%s %s" % (word, key), theirs[key], ours[key], OPS, float(ours[key]["nans"]) > 0)
        compare("%s %s" % (word, key), {"s": "1" if theirs[key][c] == ours[key][c] else "0"} if (c := "shape") else {}, {"s": "1"}, ["s"], False)

# Communication, from the rows of the calls.
sums = defaultdict(list)
for r in rows(rank_dir, "calls"):
    if r["comm"] and not r["parent"] and r["io"] and r["min"]:
        name = "%s/rank%d/%s_%s" % (r["op"], rank, "pre" if r["io"] == "in" else "post", r["index"])
        sums[name, r["step"]].append(r)
other = {(r["name"], r["step"]): r for r in rows(monitor_dir, "other") if "/" in r["name"]}
last = max((int(s) for _, s in sums), default=0)
for key, all_of in sums.items():
    if int(key[1]) >= last:
        continue
    n = sum(int(r["count"]) for r in all_of)
    want = {"min": min(float(r["min"]) for r in all_of), "max": max(float(r["max"]) for r in all_of),
            "mean": math.fsum(float(r["mean"]) * int(r["count"]) for r in all_of) / n,
            "norm": math.sqrt(math.fsum(float(r["norm"]) ** 2 for r in all_of)),
            "zeros": math.fsum(float(r["zeros"]) * int(r["count"]) for r in all_of) / n,
            "nans": sum(int(r["nans"]) for r in all_of)}
    if key not in other:
        wrong.append("no row of %s" % (key,))
        continue
    for c in OPS:
        compared += 1
        if not math.isclose(float(other[key][c]), want[c], rel_tol=1e-6, abs_tol=1e-9 if ndigits < 0 else 10 ** -ndigits):
            wrong.append("%s: %s is %s, not %s" % (key, c, other[key][c], want[c]))
for key in other:
    if key not in sums:
        wrong.append("a row of %s" % (key,))
print("\n".join(wrong[:10]))
print("compared %d values, %d of communication" % (compared, len(other)))
sys.exit(1 if wrong or not compared or not other else 0)
