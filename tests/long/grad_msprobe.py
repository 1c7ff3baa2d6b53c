# Files of task grad_probe by libprobe and by mindstudio-probe 8.1.0.
#   same OURS PEER              two ranks' folders: tables as numbers, files of signs bit by bit; says what differs
#   compare A B OUT             GradComparator.compare_distributed
import csv
import glob
import os
import sys

import numpy

if sys.argv[1] == "compare":
    from msprobe.core.grad_probe.grad_compare import GradComparator

    GradComparator.compare_distributed(*sys.argv[2:5])
    sys.exit(0)

ours, peer = sys.argv[2:4]
tables = signs = numbers = 0
# The norm of the peer is summed up in the gradient's own type: bfloat16 has 8 bits.
for path in sorted(glob.glob(f"{peer}/grad_summary_*.csv")):
    a, b = (list(csv.reader(open(f, newline="", encoding="utf-8-sig"))) for f in (os.path.join(ours, os.path.basename(path)), path))
    tables += 1
    if a[0] != b[0] or [r[0] for r in a] != [r[0] for r in b]:
        print(path, a[0], [r[0] for r in a[1:]], "not", b[0], [r[0] for r in b[1:]])
        continue
    for x, y in zip(a[1:], b[1:]):
        for name, u, v in zip(a[0], x, y):
            numbers += 1
            if u == v or name == "MD5" and u == v:
                continue
            try:
                near = abs(float(u) - float(v)) <= (4e-3 if x[0].startswith("small") else 1e-6) * abs(float(v)) if name == "norm" else float(u) == float(v)
            except ValueError:
                near = False
            if not near:
                print(path, x[0], name, u, "not", v)
for path in sorted(glob.glob(f"{peer}/step*/*.npy")):
    signs += 1
    mine = os.path.join(ours, os.path.relpath(path, peer))
    p, q = numpy.load(path), numpy.load(mine)
    if p.dtype != q.dtype or p.shape != q.shape or (p != q).any():
        print(mine, q.dtype, q.shape, "not", p.dtype, p.shape)
extra = {os.path.relpath(f, ours) for f in glob.glob(f"{ours}/step*/*.npy")} - {os.path.relpath(f, peer) for f in glob.glob(f"{peer}/step*/*.npy")}
if extra:
    print("there are more:", extra)
print("compared", tables, "tables,", numbers, "numbers,", signs, "files of signs")
sys.exit(not tables)
