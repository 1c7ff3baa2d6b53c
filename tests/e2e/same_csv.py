# SPDX-License-Identifier: Apache-2.0
"""
Compares the CSV files of two folders: the same files, the same rows in any order, numbers within ABS or 1e-8 of each other.

    same_csv.py FOLDER FOLDER ABS
"""
import csv
import os
import sys

a, b, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
wrong = []


def key(row):
    return tuple(row[k] for k in ("vpp_stage", "name", "step", "micro_step", "shape", "dtype") if k in row)


def same(x, y):
    if x == y:
        return True
    try:
        x, y = float(x), float(y)
    except ValueError:
        return False
    return abs(x - y) <= tolerance + 1e-8 * abs(y)


if sorted(os.listdir(a)) != sorted(os.listdir(b)):
    wrong.append("files: %s and %s" % (sorted(os.listdir(a)), sorted(os.listdir(b))))
rows = 0
for name in set(os.listdir(a)) & set(os.listdir(b)):
    one, two = [sorted(csv.DictReader(open(os.path.join(d, name))), key=key) for d in (a, b)]
    if len(one) != len(two):
        wrong.append("%s: %d and %d rows" % (name, len(one), len(two)))
    for x, y in zip(one, two):
        rows += 1
        wrong += ["%s %s: %s: %s and %s" % (name, key(x), c, x[c], y[c]) for c in x if not same(x[c], y.get(c, ""))]
print("\n".join(wrong[:10]))
sys.exit(1 if wrong or not rows else 0)
