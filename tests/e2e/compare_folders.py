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


def run(name, skip=None, add=None, change=None, nan=None, ranks=2, calls=40, steps=3, redop=None, checksums=False, marked=True, poison=None, half="0.5"):
    """Calls with random values; skip, add, change: (rank, step, number) of a call."""
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
run("one_rank", ranks=1)
run("unmarked", marked=False)
run("crc", checksums=True)
run("four_ranks", ranks=4)
run("crc_changed", checksums=True, change=(1, 1, 17))


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
