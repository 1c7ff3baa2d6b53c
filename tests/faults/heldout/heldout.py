#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that the rules of `probe report` were only checked with, one fault in each run, and what the report says.

    heldout.py run DIR [--runs K] [--clean K] [--seed N] [--programs a,b] [--mpi openmpi,mpich] [--faults nan,inf]
                       [--torch PYTHON] [--jobs N] [--build DIR]
    heldout.py effects DIR [the options of run]  the same runs without libprobe and report: whether each fault takes effect
    heldout.py table DIR                         the table of what DIR has
    heldout.py again DIR                         reports and judges the folders that were kept (those not exact)

A run is a line in DIR/runs.jsonl. A fault counts if the program wrote its truth. See judge.py for exact, partly, wrong, silent. A job
that a fault blocks is judged by the report while it lives.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
from ranks import end_ranks  # noqa: E402
from judge import accusations, judge  # noqa: E402
from sites import HANGS, PROGRAMS, TIMING, TORCH_PROGRAMS, find_source  # noqa: E402
from table import print_table  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
lock = threading.Lock()


def start_mpi(a, run, out, options, err):
    folder = f"{a.build}/heldout/{run['mpi']}"
    names = dict(PROBE_OUTPUT_DIR=out, HELDOUT_TRUTH=f"{out}.truth", LD_PRELOAD=f"{a.preload}:{folder}/libbit_flip.so".lstrip(":"))
    if run["mpi"] == "openmpi":
        command = ["mpirun.openmpi", "--oversubscribe", "-n", str(run["ranks"])]
        command += [w for k, v in names.items() for w in ("-x", f"{k}={v}")]
    else:
        names["LD_PRELOAD"] += f":{a.build}/apps/mpich/libucxyield.so"
        command = ["mpirun.mpich", "-n", str(run["ranks"])] + [w for k, v in names.items() for w in ("-genv", k, v)]
    env = dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl_vader_single_copy_mechanism="none",
               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    command += [f"{folder}/{run['program']}"] + options
    return [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=err, stderr=err, env=env)]


def start_torch(a, run, out, options, err):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    found = []
    for k in range(run["ranks"]):
        env = dict(os.environ, RANK=str(k), LOCAL_RANK=str(k), WORLD_SIZE=str(run["ranks"]), MASTER_ADDR="127.0.0.1",
                   MASTER_PORT=str(port), PROBE_OUTPUT_DIR=out, HELDOUT_TRUTH=f"{out}.truth", OMP_NUM_THREADS="1", PYTHONPATH=HERE,
                   LD_PRELOAD=a.preload, **run["env"])
        found.append(subprocess.Popen([a.torch, find_source(run["program"])] + options, stdin=subprocess.DEVNULL, stdout=err,
                                      stderr=err, env=env))
    return found


def read_report(a, out):
    said = subprocess.run([f"{a.build}/probe", "report", "--json", out], capture_output=True, text=True)
    try:
        return json.loads(said.stdout)
    except ValueError:
        return {"findings": [], "failed": said.stderr}


def read_truth(out):
    try:
        with open(f"{out}.truth") as f:
            return json.loads(f.readline())
    except (OSError, ValueError):
        return None


def names_hang(report):
    return any(f["kind"] in ("hang", "deadlock") and f["severity"] == "bad" for f in report["findings"])


def make_run(a, run):
    """Runs it to its end. A job that a fault blocks is read while it lives, then ended. Returns the report that is judged."""
    out = f"{a.dir}/{run['name']}"
    shutil.rmtree(out, ignore_errors=True)
    for path in glob.glob(out + ".*"):
        os.unlink(path)
    os.makedirs(out)
    options = [f"{k}={v}" for k, v in run["options"].items()]
    begun, seen, live, looks = time.time(), None, None, 0
    hangs = run["fault"] in HANGS
    with open(out + ".err", "wb") as err:
        processes = (start_torch if run["mpi"] == "gloo" else start_mpi)(a, run, out, options, err)
        while any(p.poll() is None for p in processes):
            time.sleep(0.1)
            now = time.time()
            seen = seen or (now if read_truth(out) else None)
            patience = (15, 26)[min(looks, 1)] if hangs else 60 if run["fault"] in TIMING else 16
            if seen and now - seen > patience:
                live = read_report(a, out)
                looks += 1
                if not hangs or looks == 2 or names_hang(live):
                    break
            if now - begun > (400 if run["mpi"] == "gloo" else 120):
                run["overtime"] = True
                break
        end_ranks(out, processes)
    run["seconds"] = round(time.time() - begun, 1)
    run["status"] = [p.returncode for p in processes]
    run["truth"] = read_truth(out)
    report = read_report(a, out)
    if live and run["truth"]:
        # How the runner ends a job is no part of the fault; what the report says then is kept apart.
        run["after"] = judge(run, report)[:2]
    return live or report


def keep_run(a, run):
    with lock, open(f"{a.dir}/runs.jsonl", "a") as f:
        f.write(json.dumps(run) + "\n")


def shorten(f):
    return f and {k: f[k] for k in ("severity", "kind", "ranks", "step", "op", "line", "text", "what")}


def take_verdict(a, run, report):
    run["failed"] = report.get("failed")
    if run["fault"] == "clean":
        bad, timing = accusations(report)
        run.update(accused=[shorten(f) for f in bad], timing=[shorten(f) for f in timing],
                   verdict="overtime" if run.get("overtime") else "accused" if bad else "clean")
    elif not run["truth"]:
        run["verdict"] = "none"
    else:
        verdict, off, f = judge(run, report)
        rest = [shorten(g) for g in report["findings"] if g["severity"] in ("bad", "warn")][:4]
        run.update(verdict=verdict, off=off, first=shorten(f), rest=rest)


def do_run(a, run):
    report = make_run(a, run)
    take_verdict(a, run, report)
    out = f"{a.dir}/{run['name']}"
    if run["verdict"] in ("exact", "clean", "none"):
        shutil.rmtree(out, ignore_errors=True)
        if run["verdict"] != "none":
            for path in glob.glob(out + ".*"):
                os.unlink(path)
    else:
        with open(out + ".report.json", "w") as f:
            json.dump(report, f)
    keep_run(a, run)
    return run


def check_effect(a, run):
    """A run that ends once its fault has taken effect; one without a fault must end well and print no complaint."""
    out = f"{a.dir}/{run['name']}"
    os.makedirs(out, exist_ok=True)
    begun = time.time()
    with open(out + ".err", "wb") as err:
        processes = (start_torch if run["mpi"] == "gloo" else start_mpi)(a, run, out, [f"{k}={v}" for k, v in run["options"].items()], err)
        while any(p.poll() is None for p in processes) and not read_truth(out) and time.time() - begun < 600:
            time.sleep(0.1)
        end_ranks(out, processes)
    with open(out + ".err") as err:
        said = err.read().strip()
    is_well = not any(p.returncode for p in processes) and not [w for w in said.split("\n") if not w.startswith("result ")]
    run["verdict"] = "effect" if read_truth(out) else "none" if run["fault"] != "clean" else "clean" if is_well else "failed"
    run["seconds"] = round(time.time() - begun, 1)
    if run["verdict"] in ("effect", "clean"):
        os.unlink(out + ".err")
    for path in glob.glob(out + ".truth"):
        os.unlink(path)
    shutil.rmtree(out)
    return run


def choose(a, program, mpi, fault, k):
    """The k-th run of a fault in a program: everything from its name and the seed."""
    torch = mpi == "gloo"
    table = (TORCH_PROGRAMS if torch else PROGRAMS)[program]
    r = random.Random(f"{a.seed} {program} {mpi} {fault} {k}")
    ranks = r.choice(table.get("ranks") or ([2, 2, 3] if torch else [3, 4, 4, 5, 6]))
    steps = r.randint(16, 22) if torch else r.randint(20, 36)
    options = dict(seed=r.randint(1, 10**6), steps=steps, marker=r.choice(["api", "api", "pcontrol", "none"]))
    env = {}
    if torch:
        options.pop("marker")
        env = r.choice([{}, {}, {"PROBE_PRESET": "state"}] if fault != "loss" else [{"PROBE_PRESET": "state"}])
    if fault == "clean":
        options["size"] = r.choice([1, 2, 3])
    if not torch:
        sizes = dict(spectral=[8, 12, 16]).get(program, [100, 250, 500])
        options["size"] = sizes[options.get("size", r.choice([1, 2, 3])) - 1]
    if fault != "clean":
        sites = [s for s, kinds in table["sites"].items() if fault in kinds]
        options.update(fault=fault, rank=r.randrange(ranks), step=r.randint(7, steps - 6), pick=r.randint(0, 97))
        # With fewer than 20 waits before it, a wait is never a hang by its length alone.
        if fault in HANGS and not torch:
            options.update(steps=60, step=r.randint(26, 40))
        if not torch:
            options["site"] = r.choice(sites)
            options["rank"] -= options["rank"] % table.get("only", {}).get(options["site"], 1)
    name = f"{program}-{mpi}-{fault}-{a.seed}-{k}"
    return dict(name=name, program=program, mpi=mpi, fault=fault, ranks=ranks, options=options, env=env, data=table["data"],
                marker=options.get("marker", "api"))


def plan_runs(a):
    runs = []
    places = [(p, m) for p in PROGRAMS for m in a.mpi.split(",") if m and m != "gloo"]
    if a.torch:
        places += [(p, "gloo") for p in TORCH_PROGRAMS]
    for program, mpi in places:
        if a.programs and program not in a.programs.split(","):
            continue
        table = (TORCH_PROGRAMS if mpi == "gloo" else PROGRAMS)[program]
        faults = list(dict.fromkeys(f for kinds in table["sites"].values() for f in kinds))
        for fault in faults:
            if not a.faults or fault in a.faults.split(","):
                runs += [choose(a, program, mpi, fault, k) for k in range(a.runs)]
        runs += [choose(a, program, mpi, "clean", k) for k in range(a.clean)]
    random.Random(a.seed).shuffle(runs)
    return runs


def read_runs(folder):
    with open(f"{folder}/runs.jsonl") as f:
        return list({run["name"]: run for run in map(json.loads, f)}.values())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["run", "effects", "table", "again"])
    p.add_argument("dir")
    p.add_argument("--runs", type=int, default=1)
    p.add_argument("--clean", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=4)
    p.add_argument("--programs", default="")
    p.add_argument("--faults", default="")
    p.add_argument("--mpi", default="openmpi,mpich")
    p.add_argument("--torch")
    p.add_argument("--build", default="build")
    a = p.parse_args()
    a.dir, a.build = os.path.abspath(a.dir), os.path.abspath(a.build)
    a.preload = f"{a.build}/libprobe.so" if a.verb == "run" else ""
    os.makedirs(a.dir, exist_ok=True)
    if a.verb == "effects":
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            for run in pool.map(lambda r: check_effect(a, r), plan_runs(a)):
                print(run["name"], run["verdict"], *run["options"].items(), run["seconds"], flush=True)
        return
    if a.verb == "again":
        for run in read_runs(a.dir):
            if run["verdict"] not in ("exact", "clean", "none") and os.path.isdir(f"{a.dir}/{run['name']}"):
                before = run["verdict"]
                with open(f"{a.dir}/{run['name']}.report.json") as f:
                    report = json.load(f) if run.get("after") else read_report(a, f"{a.dir}/{run['name']}")
                take_verdict(a, run, report)
                keep_run(a, run)
                print(run["name"], before, run["verdict"], run.get("off", ""))
    if a.verb == "run":
        made = {run["name"] for run in read_runs(a.dir)} if os.path.exists(f"{a.dir}/runs.jsonl") else set()
        runs = [run for run in plan_runs(a) if run["name"] not in made]
        print(f"# {len(runs)} runs", flush=True)
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            for run in pool.map(lambda r: do_run(a, r), runs):
                print(run["name"], run["verdict"], *run.get("off", []), run["seconds"], flush=True)
    print_table(read_runs(a.dir))


if __name__ == "__main__":
    main()
