#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The rows that tests/apps/ucc_calls.c must have, computed here from what each collective is by its definition, as a list for
contract_rows.py:  ucc_truth.py >LIST

Nothing of libprobe's output goes into it: numbers of two ranks, sums by fsum.
"""
import math

HEAD = "api op comm comm_seq rank size redop root peer io index dtype count bytes min max mean norm zeros nans infs tag flags"
RANKS = (0, 1)
FOLD = {"sum": lambda a, b: a + b, "prod": lambda a, b: a * b, "max": max, "min": min}
BYTES = {"float32": 4, "float64": 8}
seq = 0


def fresh():
    return [[float((r + 1) * (i + 1)) for i in range(8)] for r in RANKS]


def folded(op, parts):
    return [FOLD[op](a, b) for a, b in zip(*parts)]


def statistics(values):
    n = len(values)
    return (min(values), max(values), math.fsum(values) / n, math.sqrt(math.fsum(v * v for v in values)),
            sum(v == 0 for v in values) / n)


def row(rank, op, io, values, redop, root, flags, dtype, api):
    cells = [api, op, "team", str(seq), "=", "2", redop or ".", "." if root is None else str(root), "."]
    if io is None:
        cells += ["."] * 12
    else:
        cells += [io, "0", dtype, str(len(values)), str(len(values) * BYTES[dtype])]
        cells += [f"{v:.9g}" if dtype == "float32" else f"{v:.17g}" for v in statistics(values)] + ["0", "0"]
    print(rank, *cells, ".", flags)


def call(op, ins, outs, redop=None, root=None, flags="async", dtype="float32", api="ucc_collective_post"):
    """ins, outs: {rank: values}; a rank with neither has an empty row."""
    global seq
    for rank in RANKS:
        if rank in ins:
            row(rank, op, "in", ins[rank], redop, root, flags, dtype, api)
        if rank in outs:
            row(rank, op, "out", outs[rank], redop, root, flags, dtype, api)
        if rank not in ins and rank not in outs:
            row(rank, op, None, None, redop, root, flags, dtype, api)
    seq += 1


def each(values):
    return dict(zip(RANKS, values))


def main():
    print("#", HEAD)
    print("ranks", HEAD)
    in_place = "inplace;async"
    x = fresh()

    # Posted twice; before the second time both ranks put a 10 in front.
    for _ in range(2):
        a = [v[:4] for v in x]
        call("all_reduce", each(a), each([folded("sum", a)] * 2), "sum")
        x = fresh()
        for v in x:
            v[0] = 10.0
    x = fresh()
    four, two = [v[:4] for v in x], [v[:2] for v in x]
    call("all_reduce", each(four), each([folded("max", four)] * 2), "max", flags=in_place)
    call("reduce", each(four), {1: folded("sum", four)}, "sum", 1)
    call("broadcast", {0: four[0]}, each([four[0]] * 2), root=0)
    call("all_gather", each(two), each([two[0] + two[1]] * 2))
    own = [[r + 1.0, r + 2.0] for r in RANKS]
    call("all_gather", each(own), each([own[0] + own[1]] * 2), flags=in_place)
    product, total = folded("prod", four), folded("sum", four)
    call("reduce_scatter", each(four), each([product[:2], product[2:]]), "prod")
    call("reduce_scatter", each(four), each([total[:2], total[2:]]), "sum", flags=in_place)
    call("all_to_all", each(four), each([four[0][2 * r:2 * r + 2] + four[1][2 * r:2 * r + 2] for r in RANKS]))
    call("gather", each(two), {0: two[0] + two[1]}, root=0)
    call("scatter", {1: four[1]}, each([four[1][:2], four[1][2:]]), root=1)

    # In parts: rank r gives r + 1 elements.
    parts = [x[r][:r + 1] for r in RANKS]
    call("all_gather_v", each(parts), each([parts[0] + parts[1]] * 2))
    sent = [[x[r][4 * to:4 * to + r + 1] for to in RANKS] for r in RANKS]
    call("all_to_all_v", each([s[0] + s[1] for s in sent]), each([sent[0][r] + sent[1][r] for r in RANKS]))

    call("barrier", {}, {})
    call("all_reduce", each(two), each([folded("min", two)] * 2), "min")
    call("all_reduce", each([[0.5]] * 2), each([[1.0]] * 2), "sum", dtype="float64", api="ucc_collective_init_and_post")


if __name__ == "__main__":
    main()
