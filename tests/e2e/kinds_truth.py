#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares the files of kinds with what a training has found out about itself (tests/apps/py/train_state.py --truth).

    kinds_truth.py OUT TRUTH [--micro] KIND ...      exit 1, and a line for each difference (ten at most)

Each row of a kind must be in both, and agree to 6 digits.
"""
import csv
import glob
import json
import re
import sys


def read_kind(folder, kind):
    rows = {}
    for path in glob.glob(f"{folder}/{kind}_[0-9]*-[0-9]*.csv"):
        with open(path, newline="") as f:
            for r in csv.DictReader(f):
                key = r["name"], int(r["step"]), int(r["micro_step"]) if "micro_step" in r else None
                if key in rows:
                    yield "twice", key, None
                rows[key] = {k: float(v) for k, v in r.items()
                             if k not in ("vpp_stage", "name", "step", "micro_step", "shape", "dtype")}
                if not re.fullmatch(r"torch\.float32", r["dtype"]):
                    yield "dtype", key, r["dtype"]
    for key, values in rows.items():
        yield "row", key, values


def near(a, b):
    if a != a or b != b:
        return a != a and b != b
    return a == b or abs(a - b) <= 2e-6 * max(abs(a), abs(b)) or abs(a - b) < 1e-9


def plain(name):
    return name[7:] if name.startswith("module.") else name


def main():
    args = sys.argv[1:]
    micro = "--micro" in args
    out, truth_dir, *kinds = [a for a in args if a != "--micro"]
    differences, compared = [], 0
    for path in sorted(glob.glob(f"{truth_dir}/rank*.json")):
        rank = re.search(r"rank(\d+)", path)[1]
        with open(path) as f:
            truth = json.load(f)
        for kind in kinds:
            of_truth = "micro" if micro and kind == "grad_unreduced" else kind
            want = {(plain(r[1]), r[2], r[3]): r[4] for r in truth if r[0] == of_truth}
            got = {}
            for what, key, values in read_kind(f"{out}/rank{rank}", kind):
                if what == "row":
                    got[(plain(key[0]), *key[1:])] = values
                else:
                    differences.append(f"rank {rank} {kind} {key}: {what} {values}")
            if not want:
                differences.append(f"rank {rank} {kind}: the truth has no rows")
            for key in sorted(set(want) | set(got), key=str):
                a, b = want.get(key), got.get(key)
                if a is None or b is None:
                    differences.append(f"rank {rank} {kind} {key}: {'not in the truth' if a is None else 'not in the files'}")
                    continue
                if set(a) != set(b):
                    differences.append(f"rank {rank} {kind} {key}: columns {sorted(set(a) ^ set(b))}")
                for column in set(a) & set(b):
                    compared += 1
                    if not near(a[column], b[column]):
                        differences.append(f"rank {rank} {kind} {key} {column}: {b[column]!r}, is {a[column]!r}")
    for d in differences[:10]:
        print(d)
    print(f"# {compared} values of {len(kinds)} kinds, {len(differences)} differences")
    sys.exit(1 if differences or not compared else 0)


if __name__ == "__main__":
    main()
