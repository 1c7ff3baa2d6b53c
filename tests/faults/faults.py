#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings with one fault each, at random places, and what `probe report` says of them.

    faults.py [--build DIR] [--seed N] [--runs N] [--clean N] [--mpi openmpi,mpich] [--torch PYTHON | --shapes] [--counts FILE]
              [--keep DIR] [CLASS ...]

--counts appends a line of JSON for each run, of which measured.py makes the table that the report prints counts from.

Prints for each class how often the fault was named: exact (the first finding has the kind, the ranks and the place), partly
(the kind or the rank), wrong (another rank is blamed), silent; and false alarms (findings of severity bad or warn) on clean
runs. Exit status 1: a target is missed (--need PERCENT of exact, no wrong one, no false alarm).
"""
import argparse
import csv
import glob
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from ranks import end_ranks

HERE = os.path.dirname(os.path.abspath(__file__))
TERMS = ["forward", "buckets", "norm", "flag", "loss", "rate", "shard"]

# class: kinds that name it, sites where it may happen, whether the job may hang or die of it
CLASSES = {
    "nan": (["nan"], ["forward", "buckets", "loss", "shard", "pipe"]),
    "inf": (["inf"], ["forward", "buckets", "loss", "shard", "pipe"]),
    "spike": (["spike"], ["forward", "buckets", "loss", "shard", "pipe"]),
    "flip": (["corruption"], ["forward", "rate"]),
    "notsum": (["not_sum"], ["forward"]),
    "stale": (["stale"], ["forward", "buckets"]),
    "zero": (["zero"], ["forward", "buckets", "shard", "pipe"]),
    "drift": (["diverged"], ["buckets"]),
    "skip": (["skip"], TERMS),
    "extra": (["skip"], TERMS),
    "order": (["order", "skip"], ["buckets", "norm", "flag", "loss"]),
    "count": (["mismatch"], TERMS),
    "dtype": (["mismatch"], TERMS),
    "redop": (["mismatch"], ["forward", "buckets", "norm", "flag", "loss"]),
    "root": (["mismatch"], ["loss", "rate"]),
    "crossed": (["deadlock"], ["pipe"]),
    "tag": (["tag"], ["pipe"]),
    "norecv": (["skip", "deadlock", "tag"], ["pipe"]),
    "sleep": (["hang", "stall", "stopped"], [""]),
    "exits": (["died"], [""]),
    "killed": (["died", "stopped"], [""]),
    "stall": (["stall"], [""]),
    "slow": (["slow", "straggler"], [""]),
    "link": (["link"], ["pipe"]),
    "jitter": (["jitter"], [""]),
}
TIMING = ["slow", "link", "jitter", "stall"]
WHAT = {"count": "count", "dtype": "dtype", "redop": "redop", "root": "root"}
# If two replicas differ or two ranks disagree, nothing tells which one is right without more data.
PAIRS = ["drift", "flip", "notsum", "redop", "root", "dtype", "count"]


def launch(a, mpi, program, ranks, out, env, meddle):
    preload = f"{a.build}/libprobe.so" + (f":{a.build}/faults/{mpi}/libmeddle.so" if meddle else "")
    names = dict(env, PROBE_OUTPUT_DIR=out)
    if mpi == "openmpi":
        names["LD_PRELOAD"] = preload
        command = ["mpirun.openmpi", "--oversubscribe", "-n", str(ranks)]
        for k, v in names.items():
            command += ["-x", f"{k}={v}"]
    else:
        yielding = f"{a.build}/apps/mpich/libucxyield.so"
        names["LD_PRELOAD"] = preload + (":" + yielding if os.path.exists(yielding) else "")
        command = ["mpirun.mpich", "-n", str(ranks)]
        for k, v in names.items():
            command += ["-genv", k, v]
    return command + program


def quantile(v, q):
    v = sorted(v)
    return v[int(q * (len(v) - 1) + 0.5)] if v else 0


def spread_of(out):
    """us: how much the time outside of calls in a step spreads on the rank where it spreads most."""
    worst = 0
    for folder in glob.glob(f"{out}/rank*"):
        calls = {}
        for path in glob.glob(f"{folder}/calls_*.csv"):
            with open(path) as f:
                for row in csv.DictReader(f):
                    calls.setdefault(int(row["seq"]), row)
        steps, last = {}, None
        # What was only started, and nothing shows how long was waited for it, may be waited for as long as it is in flight.
        for row in sorted(calls.values(), key=lambda row: int(row["start_ns"])):
            start, dur = int(row["start_ns"]), int(row["dur_ns"] or 0)
            if "async" not in row["flags"] or not row["wait_ns"]:
                if last is not None:
                    steps[row["step"]] = steps.get(row["step"], 0) + max(0, start - last)
                last = max(last or 0, start + dur)
        v = list(steps.values())[2:]
        worst = max(worst, (quantile(v, 0.8) - quantile(v, 0.5)) / 1000)
    return worst


def calibrate(a, mpi):
    """What a fault of timing must take here and now: five times the spread of a clean run."""
    out = run_torch(a, "clean", mpi, 999999) if mpi in TORCH else run_one(a, "clean", mpi, 999999)[0]
    us = int(max(30000, 5 * spread_of(out)))
    shutil.rmtree(out, ignore_errors=True)
    return min(us, 400000)


def run_one(a, name, mpi, seed):
    """Returns (the folder, the truth or None, whether it had to be ended)."""
    r = random.Random(f"{seed} {name} {mpi}")
    out = f"{a.folder}/{name}-{mpi}-{seed}"
    layout = r.choice(["3d", "3d", "dp"])
    ranks = r.choice([2, 4, 4, 4, 6])
    steps = r.randint(14, 22) if name not in TIMING else r.randint(24, 30)
    odd = r.choice([0, 0, 1, 2, 3])
    options = dict(seed=r.randint(1, 10**6), layout=layout, steps=steps, odd=odd, eval=r.choice([0, 0, 5, 7]),
                   marker=r.choice(["api", "pcontrol", "none"]), elements=r.choice([512, 2048, 4096, 6000]))
    if name != "clean":
        options.update(fault=name, rank=r.randint(0, ranks - 1), step=r.randint(6, steps - 5), site=r.choice(CLASSES[name][1]),
                       pick=r.randint(0, 99))
        # Large enough that a send waits for its receive.
        if name in ("crossed", "norecv"):
            options["elements"] = 40000
        if name == "crossed":
            options["pairs"] = 1
        # Equal buckets in another order leave no trace but the weights.
        if name == "order":
            options["odd"] &= 1
        if name in TIMING:
            options["step"] = r.randint(6, steps - 10)
            options["slow_us"] = calibrate(a, mpi)
        if name == "zero" and options["odd"]:
            options["pick"] -= options["pick"] % 4
        # A flip needs a result that is compared with another rank's.
        if name == "skip" and options["site"] == "rate" and options["rank"] == 0:
            options["rank"] = 1
    command = launch(a, mpi, [f"{a.build}/faults/{mpi}/train"] + [f"{k}={v}" for k, v in options.items() if v != ""], ranks, out,
                     {}, name in ("flip", "notsum", "link"))
    ended = wait_for(a, command, out)
    with open(out + ".given", "w") as f:
        json.dump(dict(options, ranks=ranks), f)
    return out, options, ended


# Programs of shapes.c, and the faults that they have.
SHAPES = ["ring", "tree", "sort", "phases"]
SHAPE_CLASSES = {n: CLASSES[n][0] for n in ["nan", "inf", "spike", "stale", "zero", "skip", "extra", "count", "dtype", "redop", "sleep",
                                            "exits", "killed"]}


def run_shape(a, name, mpi, seed, k):
    """As run_one. The k-th run has the k-th shape."""
    shape = SHAPES[k // 2 % len(SHAPES)]
    r = random.Random(f"{seed} {name} {mpi} {shape}")
    out = f"{a.folder}/{name}-{mpi}-{seed}"
    ranks, steps = r.choice([4, 4, 6]), r.randint(16, 26)
    options = dict(shape=shape, seed=r.randint(1, 10**6), steps=steps, elements=r.choice([512, 2048, 4096]))
    if name != "clean":
        options.update(fault=name, rank=r.randint(0, ranks - 1), step=r.randint(8, steps - 4), pick=r.randint(0, 99))
    command = launch(a, mpi, [f"{a.build}/faults/{mpi}/shapes"] + [f"{k}={v}" for k, v in options.items()], ranks, out, {}, False)
    ended = wait_for(a, command, out)
    with open(out + ".given", "w") as f:
        json.dump(dict(options, ranks=ranks), f)
    return out, options, ended


def program_of(a, mpi, given):
    """Runs are counted by programs: what differs in numbers only is one."""
    if a.torch:
        return f"train_{mpi}.py"
    return f"shapes.c {given['shape']}" if a.shapes else f"train.c {given.get('layout', '')}"


def count_run(a, mpi, name, out, kinds, verdict, findings):
    """A line of --counts. kinds: those that name the fault, the usual one first; [] of a clean run."""
    if not a.counts:
        return
    main = [f for f in findings if f["severity"] in ("bad", "warn")]
    said = [[f["kind"], f["severity"]] for f in main]
    with open(a.counts, "a") as f:
        f.write(json.dumps(dict(program=program_of(a, mpi, given_of(out)), held_out=bool(a.shapes), commit=a.commit, fault=name, kinds=kinds,
                                verdict=verdict, said=said)) + "\n")


def wait_for(a, command, out):
    """Runs it to its end, or until 4 s after the fault has been done. True: it had to be ended."""
    env = dict(os.environ, OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl_vader_single_copy_mechanism="none",
               OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    os.makedirs(out, exist_ok=True)
    with open(out + ".err", "wb") as err:
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=err, stderr=err, env=env)
    begun, seen, ended = time.time(), None, False
    while p.poll() is None:
        time.sleep(0.05)
        now = time.time()
        if not seen and truth_of(out):
            seen = now
        # A wait is a hang from 10 s on.
        patience = 11.5 if "fault=sleep" in command else a.patience
        if (seen and now - seen > (patience if not any(f"fault={t}" in command for t in TIMING) else 30)) or now - begun > 90:
            ended = True
            live = subprocess.run([f"{a.build}/probe", "report", "--json", out], capture_output=True, text=True)
            with open(out + ".live.json", "w") as f:
                f.write(live.stdout)
            end_ranks(out, [p])
    return ended


# Trainings in PyTorch (train_<name>.py) and what is tried on each: kinds that name it. A place of its own says it in the program.
COMMON = {"nan": ["nan"], "inf": ["inf", "nan"], "redop": ["mismatch"], "sleep": ["hang", "stall", "stopped"], "left": ["died"],
          "exits": ["died"], "killed": ["died", "stopped"], "stall": ["stall"], "slow": ["slow", "straggler"], "jitter": ["jitter"],
          "spike": ["spike", "nan", "inf"], "skip": ["skip"]}
TERMS_TORCH = {"extra": ["skip"], "dtype": ["mismatch"], "count": ["mismatch"], "order": ["order", "skip"]}
TORCH = {"ddp": dict(COMMON, **TERMS_TORCH, drift=["diverged"], root=["mismatch"]),
         "fsdp": dict(COMMON, **TERMS_TORCH),
         "pipe": dict(COMMON, zero=["zero"], stale=["stale"], tag=["tag"], root=["mismatch"])}


def run_torch(a, name, program, seed, ranks=3):
    """The same with PyTorch on gloo, without a launcher."""
    r = random.Random(f"{seed} {name} {program}")
    out = f"{a.folder}/{name}-{program}-{seed}"
    timed = name in TIMING or seed == 999999
    steps = r.randint(24, 30) if timed else r.randint(12, 18)
    options = [f"seed={r.randint(1, 10**6)}", f"steps={steps}"]
    if name != "clean":
        options += [f"fault={name}", f"rank={r.randint(0, ranks - 1)}", f"step={r.randint(6, steps - (10 if timed else 4))}"]
    if name in TIMING:
        options += [f"slow_us={calibrate(a, program)}"]
    os.makedirs(out, exist_ok=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    procs = []
    with open(out + ".err", "wb") as err:
        for k in range(ranks):
            env = dict(os.environ, RANK=str(k), LOCAL_RANK=str(k), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                       MASTER_PORT=str(port), PROBE_OUTPUT_DIR=out, LD_PRELOAD=f"{a.build}/libprobe.so", OMP_NUM_THREADS="1")
            procs.append(subprocess.Popen([a.torch, f"{HERE}/train_{program}.py"] + options, stdin=subprocess.DEVNULL, stdout=err,
                                          stderr=err, env=env))
    begun, seen = time.time(), None
    while any(p.poll() is None for p in procs):
        time.sleep(0.05)
        seen = seen or (truth_of(out) and time.time())
        if (seen and time.time() - seen > (30 if timed else a.patience + 3)) or time.time() - begun > 120:
            for p in procs:
                p.poll() is None and p.kill()
    for p in procs:
        p.wait()
    return out


def truth_of(out):
    try:
        with open(out + ".err", errors="replace") as f:
            for line in f:
                if "TRUTH {" in line and line.endswith("\n"):
                    return json.loads(line[line.index("{"):])
    except OSError:
        pass
    return None


def ended_by_itself(out):
    """PyTorch aborts at its own end now and then, without libprobe, too: that run was none without a fault."""
    try:
        with open(out + ".err", errors="replace") as f:
            return "terminate called without an active exception" in f.read()
    except OSError:
        return False


def report_of(a, out):
    said = subprocess.run([f"{a.build}/probe", "report", "--json", out], capture_output=True, text=True)
    try:
        return json.loads(said.stdout)
    except ValueError:
        return {"findings": [], "wrong": said.stderr}


def given_of(out):
    try:
        with open(out + ".given") as f:
            return json.load(f)
    except OSError:
        return {}


def place_right(name, f, truth, given):
    if name in TIMING or name in ("sleep", "exits", "killed", "left"):
        return True
    # Where nothing marks steps they are the repetitions of the calls, which begin at any of them.
    if given.get("marker") == "none" and f.get("step") is not None and abs(f["step"] - truth["step"]) <= 1:
        return True
    if f.get("step") is not None and f["step"] != truth["step"]:
        # Replicas are compared every other step.
        return name == "drift" and truth["step"] <= f["step"] <= truth["step"] + 2
    return f.get("step") is not None


def judge(name, kinds, truth, report, given):
    findings = report["findings"]
    main = [f for f in findings if f["severity"] in ("bad", "warn") or f["kind"] in kinds]
    culprit = truth["rank"]
    right = [culprit]
    if not main:
        return "silent"
    f = main[0]
    ranks = f.get("ranks") or []
    if name == "link":
        ok = bool(ranks) and set(ranks) <= {culprit, (culprit + given["ranks"] - 1) % given["ranks"]}
    else:
        ok = ranks == right or (name in PAIRS and culprit in ranks and len(ranks) == 2)
    if f["kind"] in kinds and ok and place_right(name, f, truth, given) and f.get("what", WHAT.get(name)) == WHAT.get(name, f.get("what")):
        return "exact"
    if f["severity"] in ("bad", "warn") and ranks and culprit not in ranks:
        return "wrong"
    if any(g["kind"] in kinds or culprit in (g.get("ranks") or []) for g in main) or f["kind"] in ("hang", "stopped", "mismatch"):
        return "partly"
    return "wrong" if f["severity"] == "bad" else "silent"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--runs", type=int, default=2)
    p.add_argument("--clean", type=int, default=0)
    p.add_argument("--mpi", default="openmpi,mpich")
    p.add_argument("--keep")
    p.add_argument("--need", type=float, default=0)
    p.add_argument("--patience", type=float, default=3)
    p.add_argument("--judge", action="store_true", help="judge the folders of --keep again, without running anything")
    p.add_argument("--torch", help="a Python with PyTorch: trainings in PyTorch instead of the one in C")
    p.add_argument("--shapes", action="store_true", help="the programs of shapes.c instead of the training")
    p.add_argument("--counts", help="a file to which each run's result is appended")
    p.add_argument("--programs", default=",".join(TORCH), help="which of them")
    p.add_argument("--verbose", action="store_true")
    p.add_argument("classes", nargs="*")
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    a.commit = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    a.folder = os.path.abspath(a.keep) if a.keep else tempfile.mkdtemp(prefix="libprobe-faults.")
    os.makedirs(a.folder, exist_ok=True)
    flavours = a.programs.split(",") if a.torch else \
        [m for m in a.mpi.split(",") if os.path.exists(f"{a.build}/faults/{m}/train")]
    classes = SHAPE_CLASSES if a.shapes else {n: CLASSES[n][0] for n in CLASSES}
    known = list(dict.fromkeys(n for m in flavours for n in TORCH[m])) if a.torch else list(classes)
    names = a.classes or known
    missed, total = [], {}
    print(f" {'class':10} runs exact partly wrong silent", flush=True)
    try:
        for name in [n for n in names if n != "clean"]:
            score = dict(exact=0, partly=0, wrong=0, silent=0)
            runs = 0
            fit = [m for m in flavours if not a.torch or name in TORCH[m]]
            for k in range(a.runs if fit else 0):
                mpi = fit[k % len(fit)]
                kinds = TORCH[mpi][name] if a.torch else classes[name]
                seed = a.seed * 1000 + k
                out = f"{a.folder}/{name}-{mpi}-{seed}"
                if not a.judge:
                    shutil.rmtree(out, ignore_errors=True)
                    out = run_torch(a, name, mpi, seed) if a.torch else \
                        run_shape(a, name, mpi, seed, k)[0] if a.shapes else run_one(a, name, mpi, seed)[0]
                truth = truth_of(out)
                if not truth:
                    print(f"# {out}: the fault did not happen", flush=True)
                    continue
                report = report_of(a, out)
                verdict = judge(name, kinds, truth, report, given_of(out))
                count_run(a, mpi, name, out, kinds, verdict, report["findings"])
                runs += 1
                score[verdict] += 1
                if a.verbose or verdict != "exact":
                    top = [f for f in report["findings"] if f["severity"] in ("bad", "warn")][:2] or report["findings"][:1]
                    print(f"#   {verdict} {os.path.basename(out)} {truth} {given_of(out)}", flush=True)
                    for f in top:
                        print(f"#      {f['kind']} {f.get('ranks')} step {f.get('step')}: {f['text'][:300]!r}", flush=True)
                if not a.keep and not a.judge:
                    shutil.rmtree(out, ignore_errors=True)
            total[name] = (runs, score)
            print(f" {name:10} {runs:4} {score['exact']:5} {score['partly']:6} {score['wrong']:5} {score['silent']:6}", flush=True)
            if score["wrong"] or score["exact"] * 100 < a.need * runs:
                missed.append(name)
        n = sum(t[0] for t in total.values())
        if n:
            s = {k: sum(t[1][k] for t in total.values()) for k in ("exact", "partly", "wrong", "silent")}
            print(f" {'all':10} {n:4} {s['exact']:5} {s['partly']:6} {s['wrong']:5} {s['silent']:6}  {100 * s['exact'] / n:.0f} % exact")
        alarms, fired = 0, {}
        for k in range(a.clean):
            mpi = flavours[k % len(flavours)]
            seed = a.seed * 1000 + k
            out = f"{a.folder}/clean-{mpi}-{seed}"
            for _ in range(0 if a.judge else 3):
                shutil.rmtree(out, ignore_errors=True)
                ended = False if a.torch else (run_shape(a, "clean", mpi, seed, k) if a.shapes else run_one(a, "clean", mpi, seed))[2]
                if a.torch:
                    run_torch(a, "clean", mpi, seed)
                # One that had to be ended, as on a machine with too much to do, is none either.
                if not ended and not ended_by_itself(out):
                    break
            report = report_of(a, out)
            if "wrong" in report:
                print(f"# {out}: no report: {report['wrong']}", flush=True)
                continue
            findings = report["findings"]
            count_run(a, mpi, "clean", out, [], "clean", findings)
            for key in {(f["kind"], f["severity"]) for f in findings}:
                fired[key] = fired.get(key, 0) + 1
            bad = [f for f in findings if f["severity"] in ("bad", "warn")]
            alarms += bool(bad)
            for f in bad:
                print(f"#   false alarm in {os.path.basename(out)}: {f['kind']} {f.get('ranks')}: {f['text'][:300]!r}", flush=True)
            if not a.keep and not a.judge:
                shutil.rmtree(out, ignore_errors=True)
        if a.clean:
            print(f" clean      {a.clean:4} runs, {alarms} with a false alarm: {100 * alarms / a.clean:.1f} per 100 runs")
            # What findings.def has of each rule; one that is not here spoke in none.
            for (kind, severity), n in sorted(fired.items()):
                print(f" clean      {kind} ({severity}) in {n} of {a.clean}")
            if alarms:
                missed.append("clean")
    finally:
        if not a.keep:
            shutil.rmtree(a.folder, ignore_errors=True)
    if missed:
        print("# targets missed: " + " ".join(missed))
    return 1 if missed and a.need else 0


if __name__ == "__main__":
    sys.exit(main())
