# SPDX-License-Identifier: Apache-2.0
"""Pairs of folders that differ in known places, for test_compare.sh: python3 compare_folders.py DIR."""
import copy
import json
import os
import random
import sys

import columns
import report_folder

top = sys.argv[1]


def stacks(rank, lines):
    with open(rank.dir + "/stack_info.csv", "w") as f:
        print(",".join(columns.names("stack_info")), file=f)
        for i, line in lines.items():
            print(f"{i},MPI_Allreduce,0,/job/train.py:{line} step <- /job/train.py:99 main,", file=f)


def run(name, skip=None, add=None, change=None, nan=None, ranks=2, calls=40, steps=3, redop=None, checksums=False, marked=True, poison=None, half="0.5", late=0):
    """
    Calls with random values; skip, add, change: (rank, step, number) of a call. late: every third call is written after this number of later ones,
    as an asynchronous operation is written when it completes.
    """
    for r in range(ranks):
        rank = report_folder.Rank(f"{top}/{name}", r, ranks)
        dice = random.Random(100 + r)
        start = comm_seq = 0
        for s in range(steps):
            for k in range(calls):
                start += 1000
                mean = dice.random()
                here = (r, s, k)
                if here == skip:
                    continue
                for again in range(2 if here == add else 1):
                    out = dict(mean=mean * r + again, norm=mean * 3, max=mean + 1, min=-mean, crc32=f"{k + 1000 * s + again:08x}")
                    given = dict(mean=mean, norm=2 * mean, max=mean + 0.5, min=mean - 1, crc32=f"{k:08x}")
                    if here == change:
                        out |= dict(norm=mean * 4, crc32="ffffffff")
                    if here == nan:
                        out |= dict(nans=1)
                    # One rank puts a NaN in, all of them get it.
                    if here == poison:
                        given |= dict(nans=1)
                    if poison and here[1:] == poison[1:]:
                        out |= dict(nans=1)
                    given |= dict(zeros=half)
                    if not checksums:
                        out["crc32"] = given["crc32"] = ""
                    rank.call("all_reduce", [("in", given | dict(name="layer.weight")), ("out", out)], start=start, step=s if marked else 0,
                              comm_seq=comm_seq, stack_id=1 + k % 4, redop="max" if here == redop else "sum")
                    comm_seq += 1
        stacks(rank, {1: 10, 2: 20, 3: 30, 4: 40})
        if late:
            calls_rows = [rank.lines[i : i + 2] for i in range(0, len(rank.lines), 2)]
            order = sorted(range(len(calls_rows)), key=lambda i: i + (late + 0.5) * (i % 3 == 0))
            rank.lines = [line for i in order for line in calls_rows[i]]
        rank.write(steps=dict(current=steps if marked else 0, source="api" if marked else "none"))


run("good")
run("same")
run("changed", change=(1, 1, 17))
run("fewer", skip=(0, 1, 5))
run("more", add=(0, 2, 30))
run("fewer_changed", skip=(0, 1, 5), change=(0, 2, 8))
run("nan", nan=(0, 0, 3))
run("redop", redop=(1, 2, 2))
run("poisoned", poison=(1, 1, 7))
run("spelled", half="5.0e-01")
run("short", calls=2, steps=400)
run("short_late", calls=2, steps=400, late=150)
run("short_late_changed", calls=2, steps=400, late=90, change=(1, 200, 1))
run("one_rank", ranks=1)
run("unmarked", marked=False)
run("crc", checksums=True)
run("four_ranks", ranks=4)
run("crc_changed", checksums=True, change=(1, 1, 17))


def threads(name, seed, change=None, ids=(0, 1, 2, 3), calls=12):
    """
    Threads with a communicator each, all dups of the world, in another order in each run: collectives, and messages of two tags.
    change: (communicator, number) of a collective whose output differs; ids: of the communicators.
    """
    rank = report_folder.Rank(f"{top}/{name}", 0, 2)
    order = [c for c in range(len(ids)) for _ in range(calls)]
    random.Random(seed).shuffle(order)
    with open(rank.dir + "/comms.csv", "a") as f:
        for c in ids:
            print(f"{0xa000000000000000 + c:016x},mpi,2,0,dup,{report_folder.WORLD},,0-1", file=f)
    made = [0] * len(ids)
    for start, c in enumerate(order):
        n = made[c]
        made[c] += 1
        value = 100 * c + n
        here = dict(start=1000 * start, comm=f"{0xa000000000000000 + ids[c]:016x}", thread=c + 1, stack_id=1)
        if n % 3 == 0:
            out = dict(norm=value * (3 if (c, n) == change else 2), mean=value)
            rank.call("all_reduce", [("in", dict(norm=value, mean=value)), ("out", out)], comm_seq=n // 3, redop="sum", **here)
        else:
            rank.call("send", [("in", dict(norm=value, mean=value))], peer=1, comm_seq=n // 3, tag=n % 3, **here)
    stacks(rank, {1: 10})
    rank.write()


threads("threads", 1)
threads("threads_moved", 2)
threads("threads_changed", 2, change=(2, 6))
threads("threads_other_ids", 1, ids=(64, 65, 66, 67))
threads("threads_one_other_id", 2, change=(2, 6), ids=(0, 1, 2, 67))
threads("threads_one_more", 2, change=(2, 6), ids=(0, 1, 2, 3, 4))


def thin(name, level=None, ranks=2, calls=40, steps=3, change=None, skip=None):
    """
    Collectives, and operators without a number. level: "values" or "calls" of key max_overhead, from step 1 on. Every second
    collective is large. change: (rank, step, number) of a collective whose output differs; skip: one that is not made.
    """
    for r in range(ranks):
        rank = report_folder.Rank(f"{top}/{name}", r, ranks)
        dice = random.Random(100 + r)
        for s in range(steps):
            for k in range(calls):
                mean, large = dice.random(), k % 2
                few = level and s > 0
                size = dict(count=262144, bytes=1048576) if large else dict(count=2, bytes=8)
                values = dict(mean=mean, norm=2 * mean, max=mean + 0.5, min=mean - 1, zeros="0.5", crc32=f"{k + 1000 * s:08x}")
                if few and large:
                    values = dict.fromkeys([*values, "nans", "infs"], "")
                given = size | values
                out = dict(given)
                if (r, s, k) == change:
                    out |= dict(norm=mean * 7, crc32="ffffffff")
                flags = "nostats" if few and large else ""
                seq, at = s * calls + k, 1000 * (s * calls + k)
                if (not (few and level == "calls") or k % 4 == 0) and (r, s, k) != skip:
                    rank.call("all_reduce", [("in", given), ("out", out)], start=at, step=s, comm_seq=seq, stack_id=1 + k % 4, redop="sum", flags=flags)
                # The kept ones are others in each run.
                if (not (few and level == "calls") or (k + r) % 8 == 3):
                    v = dict(mean=mean * 5, norm=mean, max=mean * 6, min=0, zeros="0")
                    rank.call("mul", [("in", v), ("out", v)], start=at + 500, step=s, lib="aten", api="aten::mul", comm="", size="", stack_id=1 + k % 4)
        stacks(rank, {1: 10, 2: 20, 3: 30, 4: 40})
        times = dict(to=None, level=2 if level == "values" else 4, one_call_in=2 if level == "calls" else 1, values_below=524288, from_step=1, to_step=None)
        times["from"] = report_folder.BEGIN
        rank.write(steps=dict(current=steps, source="api"), **({"thinned": [times]} if level else {}))


thin("whole")
thin("few_values", level="values")
thin("few_calls", level="calls")
thin("few_changed", level="calls", change=(1, 2, 24))
thin("whole_small_changed", change=(0, 1, 6))
thin("whole_large_changed", change=(0, 1, 7))
thin("whole_skips", skip=(0, 2, 24))
thin("whole_skips_early", skip=(0, 0, 24))


def tensor(value, shape=(4, 2), dtype="torch.float32", **more):
    return dict(type="torch.Tensor", dtype=dtype, shape=list(shape), Max=value + 1, Min=-value, Mean=value / 2, Norm=value * 2,
                requires_grad=False) | more


def dump(name, entries, stack=True, rank=0, step=0, task="statistics"):
    folder = f"{top}/{name}/step{step}/rank{rank}"
    os.makedirs(folder)
    with open(folder + "/dump.json", "w") as f:
        json.dump(dict(task=task, level="L1", framework="pytorch", dump_data_dir=None, data=dict(entries)), f, indent=1)
    if stack:
        names = [n for n, _ in entries if n.endswith("forward")]
        with open(folder + "/stack.json", "w") as f:
            json.dump({str(i): [[n], [f"File /usr/lib/python3/dist-packages/torch/x.py, line 5, in f, \n g()",
                                      f"File /job/train.py, line {7 + hash_of(n)}, in step, \n it's(x)"]] for i, n in enumerate(names)}, f)


def hash_of(name):
    return sum(map(ord, name.split(".")[1]))


def number(entries):
    """Call numbers again, as a tool counts them."""
    count, out = {}, []
    for name, value in entries:
        first, function, _, direction = name.split(".")
        n = count.get((function, direction), 0)
        count[function, direction] = n + 1
        out.append((f"{first}.{function}.{n}.{direction}", value))
    return out


dice = random.Random(5)
calls = []
for i in range(30):
    value = dice.random() + 0.5
    function = ("add", "mul", "add", "sin")[i % 4]
    calls.append((f"Torch.{function}.0.forward", dict(
        input_args=[tensor(value), dict(type="int", value=i)], input_kwargs=dict(other=tensor(value * 1.5)), output=[tensor(value * 3)])))
calls = number(calls)
dump("dump", calls)
dump("dump_same", calls)
changed = copy.deepcopy(calls)
changed[11][1]["output"][0]["Norm"] *= 4
changed[20][1]["input_kwargs"]["other"]["Max"] = float("nan")
dump("dump_changed", changed)
dump("dump_fewer", number(calls[:4] + calls[5:]))
dump("dump_scalar", [(n, v | dict(input_args=[v["input_args"][0], dict(type="int", value=-1)]) if n == calls[6][0] else v) for n, v in calls])
saved = [(n.replace("Torch", "Paddle"), v) for n, v in calls]
dump("dump_renamed", saved)
with open(top + "/mapping.yaml", "w") as f:
    for n, v in calls:
        for tail in ("input.0", "input.1", "input.other", "output.0"):
            print(f"{n}.{tail}: {n.replace('Torch', 'Paddle')}.{tail}", file=f)
for r in range(3):
    dump("dump_ranks", calls, rank=r)
    dump("dump_ranks_b", changed if r == 1 else calls, rank=r)
