#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares rows of BLAS calls with what tests/apps/blas_calls.c (cublas_calls.c, cublaslt_calls.c) wrote of each tensor:  blas_truth.py OUTPUT TRUTH
"""
import sys

from rows import Output

COLUMNS = ("min", "max", "mean", "norm", "zeros")


def same(have, want, dtype, lo, hi):
    """Printed in 9 digits, or in 17; a mean is exact to 1e-12 of the mean of absolute values, which max(|min|, |max|) bounds."""
    a, b = float(have), float(want)
    digits = 5e-17 if dtype in ("float64", "complex128") else 5e-9
    return abs(a - b) <= abs(b) * digits * 2 + max(abs(lo), abs(hi)) * 2e-12 + 1e-300


def main():
    wrong = 0
    with open(sys.argv[2]) as f:
        truth = [line.split() for line in f]
    # NAME OP -: a call without tensors. Of those that had nothing to do it says nothing.
    alone = {t[1] for t in truth if t[2] == "-"}
    rows = [r for r in Output(sys.argv[1]).R if r["lib"] in ("blas", "cblas", "cublas") and (r["io"] or r["op"] in alone)]
    rows.sort(key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0)))
    if len(rows) != len(truth):
        print(f"{len(rows)} rows, {len(truth)} expected")
        wrong = 1
    for r, (api, op, io, *rest) in zip(rows, truth):
        index, dtype, shape, count, size, *stats = rest or ("", "", "", "", "", "none")
        io = io.strip("-")
        bad = [(c, r[c], w) for c, w in (("api", api), ("op", op), ("io", io), ("index", index), ("dtype", dtype),
                                         ("shape", shape), ("count", count), ("bytes", size)) if r[c] != w]
        bad += [(c, r[c], "") for c in ("comm", "peer", "redop", "root", "tag") if r[c]]
        if r["lib"] != next((lib for lib in ("cblas", "cublas") if api.startswith(lib)), "blas"):
            bad.append(("lib", r["lib"], api))
        bad = [(c, h, w) for c, h, w in bad if (c, h, w) != ("shape", "", "unknown")]
        if stats == ["none"]:
            bad += [(c, r[c], "") for c in COLUMNS if r[c]]
        elif stats[0] == "nan":
            bad += [(c, r[c], w) for c, w in (("min", "nan"), ("nans", stats[1])) if r[c] != w]
        else:
            lo, hi = float(stats[0]), float(stats[1])
            if r["nans"] != stats[5]:
                bad.append(("nans", r["nans"], stats[5]))
            bad += [(c, r[c], w) for c, w in zip(COLUMNS, stats)
                    if not r[c] or not same(r[c], w, dtype if c != "zeros" else "float32", lo, hi)]
        if bad and wrong < 10:
            print(r["seq"], r["api"], r["io"], r["index"], *(f"{c}: have {h}, want {w};" for c, h, w in bad))
        wrong += bool(bad)
    print(f"{len(truth)} tensors, {wrong} wrong")
    return wrong or not truth


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
