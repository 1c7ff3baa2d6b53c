#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what libprobe.so recorded with what libpmpicount.so, an independent tool, measured in the same run.

    pmpi_compare.py PROBE_OUTPUT PMPI_COUNT_OUT [--any-order] [--skip FUNCTION ...]

Both were preloaded together (tests/apps/pmpi_count.c). For each rank and function the i-th call of one must be the
i-th call of the other, with the same buffers, dtypes, counts and statistics. Calls for which libpmpicount.so has no
buffers (neighbourhood collectives, intercommunicators, Alltoallw) are only counted. --any-order: where several
threads call, the order is not the same in both: buffers are then compared as a set. --inner: libpmpicount.so came
first, so that libprobe.so saw its PMPI_X. Exit 1: something differs.
"""
import argparse
import collections
import csv
import glob
import math
import os
import struct
import sys

EXACT = ("count", "dtype", "min", "max", "nans", "infs")


def number(text):
    return float(text) if text else None


def row_of(row):
    return {k: row[k] if k == "dtype" else number(row[k])
            for k in ("count", "dtype", "min", "max", "mean", "norm", "zeros", "nans", "infs")}


def probe_calls(folder, inner):
    """{function: [{io: row}]}, calls in order. inner: of the functions PMPI_X, as X."""
    calls = collections.defaultdict(dict)
    for path in glob.glob(os.path.join(folder, "calls_*.csv")):
        with open(path, newline="") as f:
            for row in csv.DictReader(f):
                if row["lib"] != "mpi":
                    continue
                api = row["api"]
                if inner and not api.startswith("PMPI_"):
                    raise SystemExit(f"{folder}: {api} was called past libpmpicount.so")
                call = calls[api[1:] if inner else api].setdefault(int(row["seq"]), {})
                if row["io"]:
                    call[row["io"]] = row_of(row)
    return {api: [c for _, c in sorted(by_seq.items())] for api, by_seq in calls.items()}


def pmpi_calls(path):
    calls = collections.defaultdict(dict)
    with open(path, newline="") as f:
        for row in csv.DictReader(f):
            call = calls[row["function"]].setdefault(int(row["n"]), {})
            if row["io"]:
                call[row["io"]] = row_of(row)
    return {api: [c for _, c in sorted(by_n.items())] for api, by_n in calls.items()}


def close(a, b, scale, tolerance):
    if a is None or b is None:
        return a is b
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    if math.isinf(a) or math.isinf(b):
        return a == b
    return abs(a - b) <= tolerance * max(abs(scale), abs(a))


def as_stored(dtype, x):
    """An extreme, as an element of that type: nine digits name a float32."""
    return struct.unpack("f", struct.pack("f", x))[0] if x is not None and dtype in ("float32", "complex64") else x


def differs(ours, theirs):
    """What differs between two rows of one buffer, or None."""
    dtype = theirs["dtype"]
    for k in ("dtype", "count", "nans", "infs"):
        if ours[k] != theirs[k]:
            return k
    for k in ("min", "max"):
        if not close(as_stored(dtype, ours[k]), as_stored(dtype, theirs[k]), 0, 0):
            return k
    # Printed with nine digits, those of 64-bit types with 17.
    printed = 2e-16 if dtype in ("int64", "uint64", "float64", "complex128") else 5.1e-9
    if not close(ours["zeros"], theirs["zeros"], 0, 5.1e-9):
        return "zeros"
    if not close(ours["norm"], theirs["norm"], 0, printed + 1e-12):
        return "norm"
    # Within 1e-12 of the mean of the absolute values, which the norm bounds from above.
    typical = theirs["norm"] / math.sqrt(theirs["count"]) if theirs["norm"] and theirs["count"] else 0
    if not close(ours["mean"], theirs["mean"], typical * 1e-12 / (printed + 1e-12), printed + 1e-12):
        return "mean"
    return None


def sorting(row):
    return tuple((v is None, isinstance(v, float) and math.isnan(v), 0 if v is None or v != v else v)
                 for v in (row[k] for k in EXACT if k != "dtype"))


def compare_function(where, ours, theirs, any_order, say):
    if len(ours) != len(theirs):
        say(f"{where}: {len(ours)} calls recorded, {len(theirs)} made")
        return 0
    pairs = []
    if any_order:
        for io in ("in", "out"):
            a = sorted((c[io] for c in ours if io in c), key=sorting)
            b = sorted((c[io] for c in theirs if io in c), key=sorting)
            if len(a) != len(b):
                say(f"{where}: {len(a)} {io} rows, not {len(b)}")
                return 0
            pairs += [(f"{where} {io} {i}", x, y) for i, (x, y) in enumerate(zip(a, b))]
    else:
        for i, (a, b) in enumerate(zip(ours, theirs)):
            if not b:
                continue
            if set(a) != set(b):
                say(f"{where} call {i}: rows {sorted(a)}, not {sorted(b)}")
            pairs += [(f"{where} call {i} {io}", a[io], b[io]) for io in b if io in a]
    for name, a, b in pairs:
        what = differs(a, b)
        if what:
            say(f"{name}: {what} {a[what]}, not {b[what]} ({b})")
    return len(pairs)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("probe_output")
    p.add_argument("pmpi_out")
    p.add_argument("--any-order", action="store_true")
    p.add_argument("--calls", dest="buffers", action="store_false", help="calls that have no buffers are enough")
    p.add_argument("--inner", action="store_true")
    p.add_argument("--skip", nargs="*", default=[], help="functions that are not compared")
    p.add_argument("--counted", nargs="*", default=[], help="functions of which only the number of calls is compared")
    args = p.parse_args()
    bad = []
    rows = ranks = calls = 0
    for path in sorted(glob.glob(glob.escape(args.pmpi_out) + ".*[0-9]")):
        rank = path.rsplit(".", 1)[1]
        if not rank.isdigit():
            continue
        ranks += 1
        ours = probe_calls(os.path.join(args.probe_output, "rank" + rank), args.inner)
        made = pmpi_calls(path)
        for function in sorted(set(ours) - set(made)):
            if function not in args.skip and not function.endswith(("_init", "_init_c")):  # those that MPI_Start starts
                bad.append(f"rank {rank} {function}: {len(ours[function])} calls recorded, none made")
        for function, theirs in made.items():
            if function in args.skip or function in ("MPI_Start", "MPI_Startall"):
                continue
            calls += len(theirs)
            if function in args.counted:
                theirs = [{} for _ in theirs]
            rows += compare_function(f"rank {rank} {function}", ours.get(function, []), theirs, args.any_order,
                                     bad.append)
    for line in bad[:20]:
        print(line)
    print(f"{ranks} ranks, {calls} calls, {rows} buffers compared, {len(bad)} differences")
    return 1 if bad or not (rows if args.buffers else calls) else 0


if __name__ == "__main__":
    sys.exit(main())
