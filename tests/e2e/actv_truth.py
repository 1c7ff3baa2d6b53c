# SPDX-License-Identifier: Apache-2.0
"""
Compares actv_*.csv and actv_grad_*.csv of a rank's folder with what hooks of Python saw (module_calls.py values).

    actv_truth.py TRUTH FOLDER [KIND...]     default: both
"""
import csv
import glob
import json
import math
import sys

OPS = ("min", "max", "mean", "norm", "zeros", "nans", "infs")


def near(a, b, scale):
    return a == b or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6 * scale)


def main():
    want, have, wrong = {}, {}, []
    asked = set(sys.argv[3:]) or {"actv", "actv_grad"}
    for line in open(sys.argv[1]):
        kind, name, step, micro, m = json.loads(line)
        # Names are known from the first backward pass on.
        if (step, micro) > (0, 0) and kind in asked:
            want.setdefault((kind, name, step, micro), []).append(m)
    for kind in asked:
        for file in glob.glob(f"{sys.argv[2]}/{kind}_[0-9]*.csv"):
            for r in csv.DictReader(open(file)):
                have.setdefault((kind, r["name"], int(r["step"]), int(r["micro_step"])), []).append([float(r[o]) for o in OPS])
    for key in sorted(set(want) | set(have)):
        a, b = want.get(key, []), have.get(key, [])
        if len(a) != len(b):
            wrong.append(f"{key}: {len(b)} rows, want {len(a)}")
            continue
        for x, y in zip(a, b):
            scale = max(abs(x[0]), abs(x[1]))
            if not all(near(p, q, scale) for p, q in zip(x, y)):
                wrong.append(f"{key}: {y}, want {x}")
    kinds = {k[0] for k in have}
    print("the same" if not wrong and kinds == asked else f"{len(wrong)} of {len(want)} differ, rows of {kinds}")
    print(*wrong[:30], sep="\n", end="")


main()
