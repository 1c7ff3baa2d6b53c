# SPDX-License-Identifier: Apache-2.0
"""
Kind operator_memory and the profile made of it against what torch.profiler recorded of the same step (tests/apps/py/memory_blocks.py).

    memory_truth.py rows FOLDER TRUTH       the kind's rows are the profiler's events, in their order
    memory_truth.py profile FOLDER TRUTH    operator_memory.csv has each of its blocks, with the operator that the calls show

Prints what differs, or how many there were.
"""
import csv
import glob
import sys


def read(pattern):
    return [r for f in sorted(glob.glob(pattern)) for r in csv.DictReader(open(f))]


def events(folder):
    live, out = {}, []
    for r in read(f"{folder}/operator_memory_*.csv"):
        at = int(r["address"])
        if r["bytes"]:
            live[at] = int(r["bytes"])
            out.append((at, live[at]))
        elif at in live:  # the profiler, too, knows only blocks that it has seen
            out.append((at, -live.pop(at)))
    return out


def rows(folder, truth):
    ours = events(folder)
    # The window ends with the optimizer's step, the profiler a little after it.
    n = len(ours)
    first = next(i for i, e in enumerate(truth) if e == ours[0])
    print("differ" if ours != truth[first:first + n] else f"{n} of {len(truth)}, {sum(b > 0 for _, b in ours)} blocks")


def profile(folder, truth):
    kind = [r for r in read(f"{folder}/operator_memory_*.csv") if r["bytes"]]
    calls = {r["seq"]: r for r in read(f"{folder}/calls_*.csv")}
    made = read(f"{folder}/../profile/rank_0/*/ASCEND_PROFILER_OUTPUT/operator_memory.csv")
    if [float(r["Size(KB)"]) * 1024 for r in made] != [float(r["bytes"]) for r in kind]:
        print("sizes differ")
    for k, r in zip(kind, made):
        call = calls.get(k["call"], {})
        if r["Name"] != call.get("api", ""):
            print("name", k["call"], r["Name"])
        if call and not int(call["start_ns"]) <= int(k["at_ns"]) <= int(call["start_ns"]) + int(call["dur_ns"]):
            print("time", k["call"], int(k["at_ns"]) - int(call["start_ns"]), call["dur_ns"])
    ended = sum(b < 0 for _, b in events(folder))
    known = [r for r in made if r["Release Time(us)"]]
    if len(known) != ended or any(abs(float(r["Allocation Time(us)"]) + float(r["Duration(us)"]) - float(r["Release Time(us)"])) > 0.01 for r in known):
        print("ends differ", len(known), ended)
    empty = [c for c in made[0] if not any(r[c] for r in made)]
    print(len(made), "blocks", sum(bool(r["Name"]) for r in made) * 10 // len(made), "of 10 with a name; empty:", len(empty))


with open(sys.argv[3]) as f:
    truth = [tuple(map(int, line.split())) for line in f]
{"rows": rows, "profile": profile}[sys.argv[1]](sys.argv[2], truth)
