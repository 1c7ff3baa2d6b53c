# SPDX-License-Identifier: Apache-2.0
"""
Files of task grad_probe against the gradients that the program kept itself (tests/apps/py/grads.py), by NumPy and zlib.

    grad_truth.py check DIR TRUTH LEVEL RANKS [BOUND ...] [-- NAME ...]    says what differs; NAME: key param_list
    grad_truth.py similar TRUTH_A TRUTH_B RANK                             similarities.csv of two runs
"""
import csv
import os
import sys
import zlib

import numpy


def columns(level, bounds):
    if level == "L0":
        return ["MD5"]
    if level == "L1":
        return []
    ends = ["-inf"] + bounds + ["inf"]
    return [f"({a}, {b}" + (")" if b == "inf" else "]") for a, b in zip(ends, ends[1:])] + ["=0"]


def shares(g, bounds):
    flat = g.ravel()
    where = numpy.searchsorted(numpy.array([float(b) for b in bounds], dtype=numpy.float32), flat, side="left")
    return [float((where == i).mean()) for i in range(len(bounds) + 1)] + [float((flat == 0).mean())]


def check(folder, truth, level, bounds, names):
    for file in sorted(os.listdir(truth)):
        step = file[:-4]
        want = {n: g for n, g in numpy.load(f"{truth}/{file}").items() if not names or n in names}
        with open(f"{folder}/grad_summary_{step}.csv", newline="") as f:
            header, *rows = csv.reader(f)
        if header != ["param_name"] + columns(level, bounds) + ["max", "min", "norm", "shape"]:
            print("header:", header)
        if sorted(r[0] for r in rows) != sorted(want):
            print(f"step {step}: {[r[0] for r in rows]}, not {list(want)}")
        for name, *row in rows:
            g = want[name]
            top, least, norm, shape = row[-4:]
            if (float(top), float(least), shape) != (float(g.max()), float(g.min()), str(list(g.shape))):
                print(f"step {step}, {name}: {row[-4:]}, not {g.max()} {g.min()} {g.shape}")
            exact = numpy.sqrt((g.astype(numpy.float64) ** 2).sum())
            if abs(float(norm) - exact) > 1e-7 * exact:
                print(f"step {step}, {name}: norm {norm}, not {exact}")
            if level == "L0" and row[0] != f"{zlib.crc32(numpy.ascontiguousarray(g).tobytes()):08x}":
                print(f"step {step}, {name}: {row[0]}")
            if level == "L2" and [float(v) for v in row[:-4]] != shares(g, bounds):
                print(f"step {step}, {name}: {row[:-4]}, not {shares(g, bounds)}")
            signs = f"{folder}/step{step}/{name}.npy"
            if level == "L0":
                if os.path.exists(signs):
                    print(signs, "is there")
                continue
            if not os.path.exists(signs):
                print(f"no signs of {name} in step {step}")
                continue
            have = numpy.load(signs)
            if have.dtype != bool or have.shape != g.shape or (have != (g > 0)).any():
                print(f"{signs}: {have.dtype} {have.shape}, {(have != (g > 0)).sum()} differ")


def similar(a, b):
    steps = sorted(os.listdir(a), key=lambda f: int(f[:-4]))
    same = {}
    for file in steps:
        x, y = numpy.load(f"{a}/{file}"), numpy.load(f"{b}/{file}")
        pairs = [(n, (x[n] > 0) == (y[n] > 0)) for n in sorted(x)]
        for name, equal in pairs + [("summary", numpy.concatenate([e.ravel() for _, e in pairs]))]:
            same.setdefault(name, []).append(equal.sum() / equal.size)
    print(",".join(["step"] + [f[:-4] for f in steps]))
    for name in sorted(n for n in same if n != "summary") + ["summary"]:
        print(",".join([name] + [repr(float(v)) for v in same[name]]))


if sys.argv[1] == "similar":
    similar(f"{sys.argv[2]}/rank{sys.argv[4]}", f"{sys.argv[3]}/rank{sys.argv[4]}")
else:
    _, _, at, kept, level, ranks, *rest = sys.argv
    cut = rest.index("--") if "--" in rest else len(rest)
    for r in range(int(ranks)):
        check(f"{at}/rank{r}", f"{kept}/rank{r}", level, rest[:cut], rest[cut + 1:])
