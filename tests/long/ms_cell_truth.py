# SPDX-License-Identifier: Apache-2.0
"""
Compares what libprobe wrote of a training with what tests/apps/py/ms_train_cell.py says of it itself: every value of each step to
5 digits, and no value that is not the program's.

    ms_cell_truth.py FOLDER TRUTH [--absent NAME,NAME]      FOLDER of one rank; names that must have no value at all
"""
import collections
import csv
import glob
import json
import math
import os
import sys

out, path = sys.argv[1], sys.argv[2]
absent = set(sys.argv[4].split(",")) if len(sys.argv) > 4 else set()
with open(path) as f:
    steps = json.load(f)
ours = collections.defaultdict(list)


def read(pattern, tag, column):
    for name in sorted(glob.glob(os.path.join(out, pattern))):
        with open(name, newline="") as f:
            for row in csv.DictReader(f):
                ours[tag(row), int(row["step"])].append(float(row[column]))


read("scalars_*.csv", lambda r: r["name"], "value")
for kind in ("local_norm", "adam_m_norm", "adam_v_norm"):
    read(f"{kind}_*.csv", lambda r, k=kind: k + "/" + r["name"], "value")
read("param_updated_*.csv", lambda r: "weights/" + r["name"], "norm")
want = {}
for s, step in enumerate(steps):
    want["loss", s] = step["loss"]
    want["grad-norm", s] = step["grad-norm"]
    want["weight_norm", s] = math.sqrt(sum(v * v for v in step["weights"].values()))
    want["device_local_norm", s] = math.sqrt(sum(v * v for v in step["local_norm"].values()))
    for kind in ("local_norm", "weights", "adam_m_norm", "adam_v_norm"):
        for name, value in step[kind].items():
            want[f"{kind}/{name}", s] = value
bad = compared = 0
kinds = {tag.split("/")[0] for tag, _ in want}
for key in sorted(set(want) | {k for k in ours if k[0].split("/")[0] in kinds}):
    if key[0] in absent:
        right = key not in ours
    else:
        compared += 1
        right = key in want and len(ours[key]) == 1 and math.isclose(ours[key][0], want[key], rel_tol=1e-5)
    if not right:
        bad += 1
        print(f"{key[0]} of step {key[1]}: {ours[key]}, not {want.get(key)}")
# A time that is not known is absent; one that is known is no longer than the program's own stopwatch says.
for s, step in enumerate(steps):
    times = ours["optimizer-time", s]
    limit = step["optimizer-time"]
    if times and not (limit and 0 < times[0] <= limit) or (limit and not times):
        bad += 1
        print(f"optimizer-time of step {s}: {times}, the program has {limit}")
print(f"{compared} values compared, {bad} wrong")
sys.exit(bad > 0 or compared < 20)
