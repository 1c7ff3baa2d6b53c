#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Counts what `probe report --json` should say, from the same CSV files by other means, and compares.

    report_truth.py DIR REPORT.json      prints TAP lines; exit 1 if something differs
"""
import collections
import csv
import glob
import gzip
import json
import math
import os
import re
import sys

TOLERANCE = 1 / 60  # of percentiles: the report counts in classes
failed = 0


def check(name, ok, detail=""):
    global failed
    print(f"{'ok' if ok else 'not ok'} - {name}" + (f" # {detail}" if detail and not ok else ""))
    failed += not ok


def near(have, want, tolerance=1e-6, absolute=1e-9):
    return abs(have - want) <= absolute + tolerance * abs(want)


def members(text):
    out = set()
    for part in re.split("[;|]", text):
        lo, _, hi = part.partition("-")
        out.update(range(int(lo), int(hi or lo) + 1))
    return out


def rows_of(folder):
    def place(path):
        a, _, k = re.match(r"calls_(\d+)-(\d+)(?:\.(\d+))?\.csv", os.path.basename(path)).groups()
        return int(a), int(k or 0)

    for path in sorted(glob.glob(folder + "/calls_*.csv*"), key=place):
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rt", newline="") as f:
            yield from csv.DictReader(f)


def clocks(report):
    """By rank: a moment by its clock -> the same by the first host's."""

    def right(r):
        drift, at = r["clock_drift_ppm"] * 1e-6, r["clock_at_ns"]
        return lambda t: t + r["clock_correction_ns"] - int(drift * (t - at))

    return {r["rank"]: right(r) for r in report["ranks"]}


class Call:
    def __init__(self, rank, row):
        self.rank, self.rows = rank, []
        for key in ("lib", "api", "op", "comm", "redop", "root", "dtype"):
            setattr(self, key, row[key])
        self.step, self.seq, self.start = int(row["step"]), int(row["seq"]), int(row["start_ns"])
        self.dur = int(row["dur_ns"]) if row["dur_ns"] else None
        flags = row["flags"].split(";")
        self.open = "open" in flags or self.dur is None
        self.asynchronous = "async" in flags
        self.wait = int(row["wait_ns"]) if row["wait_ns"] else 0
        self.waited = bool(row["wait_ns"])
        self.error = any(f.startswith("error:") for f in flags)
        self.comm_seq = int(row["comm_seq"]) if row["comm_seq"] else None
        self.p2p = bool(row["peer"] or row["tag"])
        self.joins = bool(self.comm and self.comm_seq is not None and not self.p2p and
                          "localcomm" not in flags and not row["parent"])
        self.end = self.start + (self.dur or 0)

    def bytes(self):
        return max(sum(int(r["bytes"]) for r in self.rows if r["io"] == io) for io in ("in", "out"))


def load(top):
    calls, comms, ranks = [], {}, []
    for folder in glob.glob(top + "/rank*"):
        m = re.fullmatch(r"rank(\d+)", os.path.basename(folder))
        if not m:
            continue
        rank = int(m.group(1))
        ranks.append(rank)
        if os.path.exists(folder + "/comms.csv"):
            with open(folder + "/comms.csv", newline="") as f:
                for row in csv.DictReader(f):
                    comms[row["comm"]] = members(row["world_ranks"])
        have = None
        for row in rows_of(folder):
            if have is None or have.seq != int(row["seq"]):
                have = Call(rank, row)
                calls.append(have)
            have.rows.append(row)
    return calls, comms, sorted(ranks)


def quantile(values, q):
    return sorted(values)[int(q * (len(values) - 1))]


def same_wait(have, group):
    if group and not any(c.waited for c in group):
        return have is None
    return near(have, sum(c.wait for c in group) * 1e-9)


def operations(calls, report):
    by = collections.defaultdict(list)
    for c in calls:
        by[c.lib, c.api, c.op, c.comm or None].append(c)
    said = {(o["lib"], o["api"], o["op"], o["comm"]): o for o in report["operations"]}
    check("every operation is listed once", sorted(map(str, said)) == sorted(map(str, by)) and len(said) == len(report["operations"]))
    for key, group in by.items():
        o, durations = said[key], [c.dur for c in group if c.dur is not None and not c.open]
        ok = (o["calls"] == len(group) and o["rows"] == sum(len(c.rows) for c in group) and
              o["bytes"] == sum(c.bytes() for c in group) and o["open"] == sum(c.open for c in group) and
              o["errors"] == sum(c.error for c in group) and o["duration"]["n"] == len(durations) and
              same_wait(o["wait_s"], [c for c in group if c.asynchronous and not c.open]) and
              o["first_step"] == min(c.step for c in group) and o["last_step"] == max(c.step for c in group))
        if durations:
            d = o["duration"]
            ok &= (near(d["total_s"], sum(durations) * 1e-9) and near(d["min_s"], min(durations) * 1e-9) and
                   near(d["max_s"], max(durations) * 1e-9) and
                   near(d["median_s"], quantile(durations, 0.5) * 1e-9, TOLERANCE, 1e-9) and
                   near(d["p99_s"], quantile(durations, 0.99) * 1e-9, TOLERANCE, 1e-9))
        check(f"{key[1]} on {key[3]}", ok, json.dumps(o))


def meetings(calls, comms, ranks):
    """(comm, comm_seq) -> calls of the ranks that share it, and how many are to come."""
    by = collections.defaultdict(list)
    for c in calls:
        if c.joins:
            by[c.comm, c.comm_seq].append(c)
    return {key: (group, len(comms.get(key[0], set(ranks)) & set(ranks))) for key, group in by.items()}


def is_most_of(have, all_of_it):
    """Rows come as calls complete. What completes out of turn is counted for the part after what was counted before."""
    return 0.8 * all_of_it - 0.01 <= have <= all_of_it * (1 + 1e-6) + 1e-6


def covered(spans):
    """How long at least one of them lasts."""
    total, until = 0, -math.inf
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def late(met, ranks, report):
    right = clocks(report)
    comms = collections.defaultdict(lambda: {"last": collections.Counter(), "lag": [], "wait": 0, "n": 0, "spread": [],
                                         "stood": collections.defaultdict(list)})
    for (comm, _), (group, want) in met.items():
        if want < 2 or len(group) < want or any(c.open for c in group):
            continue
        at = {c.rank: right[c.rank](c.start) for c in group}
        last = max(at.values())
        k = comms[comm]
        k["n"] += 1
        k["spread"].append(max(c.dur for c in group) - min(c.dur for c in group))
        # In the others no rank was still there when the last one came.
        latest = [r for r in at if at[r] == last][0]
        if any(c.rank != latest and c.dur > last - at[c.rank] for c in group):
            k["lag"].append(last - sorted(at.values())[(len(at) - 1) // 2])
            k["last"].update([latest])
        if not any(c.asynchronous for c in group):
            k["wait"] += sum(min(last - at[c.rank], c.dur) for c in group)
            continue
        for c in group:
            k["stood"][c.rank].append((at[c.rank], min(at[c.rank] + c.dur, last)))
    said = {c["comm"]: c for c in report["late"] if c["operations"]}
    check("communicators that are joined", set(said) == set(comms), f"{sorted(said)} {sorted(comms)}")
    for comm, k in comms.items():
        s = said.get(comm)
        if not s:
            continue
        most = max(k["last"].values())
        # Two that arrive in the same nanosecond may be ordered either way.
        ok = (s["operations"] == k["n"] and abs(s["times_last"] - most) <= 1 and
              abs(k["last"][s["most_often_last"]] - most) <= 1 and near(s["wait_s"], k["wait"] * 1e-9, 1e-6, 1e-6) and
              is_most_of(s["stood_open_s"], sum(covered(v) for v in k["stood"].values()) * 1e-9) and
              near(s["last_behind"]["median_s"], quantile(k["lag"], 0.5) * 1e-9, TOLERANCE, 2e-9) and
              near(s["last_behind"]["max_s"], max(k["lag"]) * 1e-9) and
              near(s["durations_differ"]["median_s"], quantile(k["spread"], 0.5) * 1e-9, TOLERANCE, 2e-9))
        check(f"ranks that arrive last on {comm}", ok, json.dumps(s))


def slowest(calls, met, report):
    joined = [max((c.dur or 0) for c in group) for group, want in met.values() if want >= 2]
    alone = [c.dur or 0 for c in calls if not c.joins]
    want = sorted(joined + alone, reverse=True)
    have = [s["duration_s"] for s in report["slowest"]]
    check("the slowest calls", len(have) == min(len(want), len(have)) and
          all(near(h, w * 1e-9) for h, w in zip(have, want)), f"{have} {want[:10]}")


def bad_values(calls, report):
    right = clocks(report)
    rows, ranks, steps, first = 0, set(), set(), {}
    for c in calls:
        for r in c.rows:
            if not int(r["nans"] or 0) and not int(r["infs"] or 0):
                continue
            rows += 1
            ranks.add(c.rank)
            steps.add(c.step)
            event = right[c.rank](c.end if r["io"] == "out" else c.start)
            order = (c.comm_seq, r["io"] == "out", event) if not c.p2p and c.comm_seq is not None else (c.step, event)
            key = c.comm, c.p2p
            if key not in first or order < first[key][0]:
                first[key] = order, c, r, event
    b = report["bad_values"]
    check("how many values are bad", (b["rows"], set(b["ranks"]), b["steps"]) == (rows, ranks, len(steps)), json.dumps(b))
    if not first:
        check("no bad value is named", b["first"] is None)
        return
    _, c, r, _ = min(first.values(), key=lambda f: (f[1].step, f[3]))
    f = b["first"] or {}
    check("the first bad value", (f.get("rank"), f.get("step"), f.get("comm_seq"), f.get("io"), f.get("index"), f.get("nans")) ==
          (c.rank, c.step, c.comm_seq, r["io"], int(r["index"]), int(r["nans"])), json.dumps(f))


def mismatch(met, report):
    unlike = []
    for (comm, seq), (group, want) in met.items():
        if want >= 2 and len({(c.op, c.redop, c.root) for c in group}) > 1:
            unlike.append((group[0].step, comm, seq))
    said = report["mismatch"]
    where = (said["step"], said["comm"], said["comm_seq"]) if said else None
    check("where ranks differ", where == (min(unlike) if unlike else None), f"{where} {unlike[:3]}")


def main():
    calls, comms, ranks = load(sys.argv[1])
    with open(sys.argv[2]) as f:
        report = json.load(f)
    check("calls, rows, bytes, ranks", (report["calls"], report["rows"], report["bytes"], report["ranks_seen"]) ==
          (len(calls), sum(len(c.rows) for c in calls), sum(c.bytes() for c in calls), len(ranks)))
    check("first and last step and time", not calls or (
        report["steps"]["first"], report["steps"]["last"], report["first_ns"], report["last_ns"]) == (
        min(c.step for c in calls), max(c.step for c in calls), min(c.start for c in calls), max(c.end for c in calls)))
    operations(calls, report)
    met = meetings(calls, comms, ranks)
    late(met, ranks, report)
    slowest(calls, met, report)
    bad_values(calls, report)
    mismatch(met, report)
    want = sorted((c.rank, c.api, c.comm_seq) for c in calls if c.open)
    have = sorted((o["rank"], o["api"], o["comm_seq"]) for o in report["open"] if not o["waiting"])
    check("open calls", have == want, f"{have} {want}")
    sys.exit(failed > 0)


main()
