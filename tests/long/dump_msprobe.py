# msprobe's own tools on the dumps of tests/long/dump_msprobe.sh, in one process, for its import takes long. Argument: the folder with
# <level>.peer and <level>.ours. A line of `ok` or `not ok` for each thing.
import collections
import contextlib
import csv
import glob
import json
import os
import re
import sqlite3
import sys

top = sys.argv[1]


def tell(good, text, why=""):
    print("ok -" if good else "not ok -", text if good else f"{text}: {why}", flush=True)


def run(*args):
    from msprobe.msprobe import main

    sys.argv = ["msprobe", *args]
    with contextlib.redirect_stdout(sys.stderr):
        try:
            main()
        except SystemExit as e:
            return e.code or 0
    return 0


def entries(folder):
    return json.load(open(f"{folder}/dump.json"))["data"]


def prefix(name):
    """Of a row's name, Functional.linear.0.forward.input.0, that of its entry."""
    for side in ".input", ".output", ".parameters.", ".parameters_grad.", ".kwargs.":
        if side == ".parameters_grad." and side in name:
            return ".".join(name.split(".parameters_grad.")[0].split(".")) + side + name.split(side)[1].split(".")[0]
        if side in name:
            return name.split(side)[0]
    return name


os.makedirs(f"{top}/made", exist_ok=True)
# The guide's program: all that msprobe has is there, and passes.
run("compare", "-tp", f"{top}/guide.ours/step0", "-gp", f"{top}/guide.peer/step0", "-o", f"{top}/made/guide")
table = list(csv.DictReader(open(glob.glob(f"{top}/made/guide/compare_result_*.csv")[0])))
theirs = [r for r in table if r["Bench Name"] not in ("", "N/A")]
bad = [r["Bench Name"] for r in theirs if r["NPU Name"] in ("", "N/A") or r["Result"] != "pass"]
tell(theirs and not bad, "the guide's program: every row of msprobe's passes", bad)
for level, share in ("L0", 1.0), ("mix", 0.95):
    out = f"{top}/made/{level}"
    run("compare", "-tp", f"{top}/{level}.ours/step1", "-gp", f"{top}/{level}.peer/step1", "-o", out)
    tables = sorted(glob.glob(f"{out}/compare_result_rank*.csv"))
    tell(len(tables) == 2, f"{level}: compare makes a table for each rank", tables)
    for rank, table in enumerate(tables):
        want = set(entries(f"{top}/{level}.peer/step1/rank{rank}"))
        rows = list(csv.DictReader(open(table)))
        paired = {prefix(r["Bench Name"]) for r in rows if r["NPU Name"] not in ("", "N/A") and r["Bench Name"] not in ("", "N/A")}
        both = [r for r in rows if r["NPU Name"] not in ("", "N/A") and r["Bench Name"] not in ("", "N/A")]
        # In-place modules have gradients of their inputs here and none there, and the like: what it has is compared.
        bad = sorted({r["Bench Name"] for r in both if r["Result"] != "pass"})
        for kind in "Distributed", "Module":
            missing = sorted(n for n in want if n.startswith(kind) and n not in paired)
            tell(not missing, f"{level}, rank {rank}: each entry of {kind} is paired", missing[:5])
        missing = sorted(want - paired)
        tell(len(missing) <= (1 - share) * len(want), f"{level}, rank {rank}: of {len(want)} entries {len(want) - len(missing)} are paired", missing[:9])
        tell(not bad, f"{level}, rank {rank}: {len(both)} rows pass", bad[:9])
for level in "L0", "mix":
    out = f"{top}/made/graph.{level}"
    run("graph_visualize", "-tp", f"{top}/{level}.ours/step1/rank1", "-o", out)
    for db in glob.glob(f"{out}/*.db"):
        names = {n for (n,) in sqlite3.connect(db).execute("select node_name from tb_nodes")}
        missing = sorted(set(entries(f"{top}/{level}.ours/step1/rank1")) - names)
        tell(not missing, f"{level}: graph_visualize has a node for each record, of {len(names)}", missing[:9])
    tell(glob.glob(f"{out}/*.db"), f"{level}: graph_visualize makes a database", os.listdir(out) if os.path.isdir(out) else "nothing")
# Two sides.
out = f"{top}/made/graph.two"
run("graph_visualize", "-tp", f"{top}/L0.ours/step1/rank1", "-gp", f"{top}/L0.peer/step1/rank1", "-o", out)
tell(glob.glob(f"{out}/*.db"), "graph_visualize compares both")



def rows_of(kind, data):
    out = f"{top}/made/db.{os.path.basename(data)}"
    run("data2db", "--db", out, "--data", data, "--format", kind)
    (db,) = glob.glob(f"{out}/*.db")
    return list(sqlite3.connect(db).execute("select rank, metric_name, target_name from trend_data d join monitoring_metrics m on"
                                            " m.metric_id = d.metric_id join monitoring_targets t on t.target_id = d.target_id"))


# Arguments are in the operator's order here: embedding has the weights first. What is called after the last step is a step of its own.
have, want = (collections.Counter((r, m, re.sub(r"\.input\.\d+", ".input", t)) for r, m, t in rows_of("dump", f"{top}/mix.{who}")) for who in ("ours", "peer"))
tell(want.total() > 1000 and not want - have and (have - want).total() <= 4, f"data2db: all of its {want.total()} rows", (want - have, have - want))
rows = [r for f in glob.glob(f"{top}/mon/*/*.csv") for r in csv.DictReader(open(f)) if not f.endswith(("stack_info.csv", "cc_log.csv"))]
made = rows_of("monitor", f"{top}/mon")
tell(len(rows) == len(made) > 400, f"data2db of the monitor's folders: {len(made)} rows", len(rows))
out = f"{top}/made/overflow"
run("overflow_check", "-i", f"{top}/L1.nan/step1", "-o", out)
told = [json.load(open(f)) for f in glob.glob(f"{out}/anomaly_analyze_*.json")]
first = told and [(rank, nodes[0]["op_name"]) for rank, nodes in told[0].items()]
tell(first and all(r == "rank_1" and n.startswith("Tensor.__mul__.") for r, n in first), "overflow_check names rank 1 and its operator", first)
out = f"{top}/made/xlsx"
run("compare", "-tp", f"{top}/mix.ours/step1", "-gp", f"{top}/mix.peer/step1", "-o", out, "--xlsx")
with open(f"{top}/made/merge.yaml", "w") as f:
    f.write("api:\n  - Distributed.all_reduce\ncompare_index:\n  - Max diff\n  - NormRelativeErr\n")
run("merge_result", "-i", out, "-o", f"{top}/made/merged", "-config", f"{top}/made/merge.yaml")
tell(glob.glob(f"{top}/made/merged/*.xlsx"), "merge_result")
