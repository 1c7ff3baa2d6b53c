# SPDX-License-Identifier: Apache-2.0
"""
Compares a dump with what tests/apps/py/ms_kernels.py --truth heard of MindSpore: the operators that it called one by one are there by
the names of MindSpore's functions, and NumPy reads their tensors with the values that MindSpore's own asnumpy() had.

    ms_dump_truth.py OUTPUT TRUTH.json
"""
import glob
import json
import math
import os
import sys

import numpy as np

(path,) = glob.glob(os.path.join(sys.argv[1], "step0", "*", "dump.json"))
with open(path) as f:
    dump = json.load(f)
with open(sys.argv[2]) as f:
    truth = [t for t in json.load(f) if "step" not in t]
bad = 0


def wrong(what):
    global bad
    bad += 1
    print(what)


def same(tensor, want):
    a = np.load(os.path.join(dump["dump_data_dir"], tensor["data_name"]))
    if tensor["type"] != "mindspore.Tensor" or tensor["dtype"].lower() != want["dtype"]:
        return False
    if list(a.shape) != want["shape"] or tensor["shape"] != want["shape"] or str(a.dtype) != want["dtype"]:
        return False
    a = a.astype(np.float64)
    a = a[~np.isnan(a)]
    return want["values"][0] is None or all(
        math.isclose(x, w, rel_tol=1e-6, abs_tol=1e-9) for x, w in zip((a.min(), a.max(), a.mean(), np.linalg.norm(a)), want["values"]))


if dump["framework"] != "mindspore":
    wrong(f'framework: {dump["framework"]}')
found = 0
for t in truth:
    entries = [e for n, e in dump["data"].items() if n.startswith(f'Functional.{t["op"].lower()}.')]
    if not entries:
        continue
    found += 1
    if not any(all(any(same(x, w) for x in e["output"] if x) for w in t["out"]) for e in entries):
        wrong(f'{t["op"]}: {t["out"]} is not among the outputs')
if not any(n.startswith("Primitive.Adam.") for n in dump["data"]) or not any(n.startswith("Functional.cross_entropy.") for n in dump["data"]):
    wrong(f"names: {list(dump['data'])}")
print(f"{found} operators compared, {bad} wrong")
sys.exit(bad > 0 or found < 5)
