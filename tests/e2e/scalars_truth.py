#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares scalars_*.csv with what the script itself says of its steps (tests/apps/py/scalars.py).

    scalars_truth.py FOLDER FILE [NAME...]    FOLDER: a rank's. NAME: of those numbers only. Prints what differs; exit 1.

Numbers are equal to 6 digits. Times: a loaded machine takes the processor away between the two clocks, so of all steps
together the difference in the middle counts, and it may be 5 ms and a tenth.
"""
import collections
import csv
import glob
import statistics
import sys

folder, path, only = sys.argv[1], sys.argv[2], sys.argv[3:]
have, want = {}, {}
for file in glob.glob(glob.escape(folder) + "/scalars_*.csv"):
    with open(file, newline="") as f:
        for r in csv.DictReader(f):
            have[int(r["step"]), r["name"]] = float(r["value"])
with open(path) as f:
    for line in f:
        step, name, value = line.split()
        if not only or name.split("/")[0] in only:
            want[int(step), name] = float(value)
wrong, times = [], collections.defaultdict(list)
for key, value in want.items():
    if key not in have:
        wrong.append(f"{key}: missing")
    elif key[1].endswith("-time"):
        times[key[1]].append((value, have[key]))
    elif have[key] != value and not abs(have[key] - value) <= 1e-6 * abs(value):
        wrong.append(f"{key}: {have[key]} and not {value}")
for name, pairs in times.items():
    off = statistics.median(abs(a - b) for a, b in pairs)
    if off > 5 + statistics.median(a for a, _ in pairs) / 3:  # ranks wait for a core, too
        wrong.append(f"{name}: off by {off} ms: {pairs}")
# For numbers that the script reports at all, there must be no value that it did not report.
for key in have:
    if key[1].split("/")[0] in {k[1].split("/")[0] for k in want} and key not in want and not key[1].endswith("-time"):
        wrong.append(f"{key}: {have[key]}, of which the script knows nothing")
print("\n".join(wrong[:20]) if wrong else f"{len(want)} equal")
sys.exit(bool(wrong) or not want)
