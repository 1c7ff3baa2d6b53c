#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares scalars with what a program printed: lines "STEP NAME VALUE".

    scalars_printed.py PRINTED SCALARS.csv NAME ...     exit 1, and what differs

Each number that was printed must be in the file, to 6 digits, and none that was not printed.
"""
import csv
import sys

printed, path, *names = sys.argv[1:]
with open(printed) as f:
    want = {(r[0], r[1]): float(r[2]) for r in map(str.split, f) if len(r) == 3 and r[1] in names}
with open(path, newline="") as f:
    got = {(r["step"], r["name"]): float(r["value"]) for r in csv.DictReader(f) if r["name"] in names}
differ = [(k, want.get(k), got.get(k)) for k in sorted(set(want) | set(got))
          if k not in want or k not in got or not abs(want[k] - got[k]) <= 2e-6 * abs(want[k])]
for key, a, b in differ[:10]:
    print(*key, f"printed {a}, in the file {b}")
sys.exit(1 if differ or not want else 0)
