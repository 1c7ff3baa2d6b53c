# SPDX-License-Identifier: Apache-2.0
"""The data in a page of `probe report --html` against the rows, and against the report's JSON.
Usage: html_truth.py PAGE DIR REPORT.json. Prints "ok - ..." or "not ok - ..." lines."""
import collections
import csv
import glob
import gzip
import json
import math
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read()
top = sys.argv[2]
report = json.load(open(sys.argv[3]))
OPEN, ASYNC, ERROR = 1, 2, 4


def check(text, good, detail=""):
    print(("ok - " if good else "not ok - ") + text + ("" if good else f": {detail}"[:300]))


found = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
check("one document in the page", len(found) == 1, len(found))
d = json.loads(found[0])
elsewhere = re.findall(r'(?:src|href)\s*=\s*["\'][^"\']+|@import|url\(|fetch\(|XMLHttp|<link', page.replace(found[0], ""))
check("nothing is loaded from elsewhere", not elsewhere, elsewhere)
check("the report's findings", [(f["severity"], f["kind"], f["text"]) for f in d["findings"]] ==
      [(f["severity"], f["kind"], f["text"]) for f in report["findings"]])
check("ranks, calls, communicators", (d["ranks"], d["calls"], sorted(c["comm"] for c in d["comms"])) ==
      ([r["rank"] for r in report["ranks"]], report["calls"], sorted(c["comm"] for c in report["comms"])))

calls = collections.defaultdict(list)  # by rank, in the order of their starts
for path in glob.glob(top + "/rank*/calls_*.csv*"):
    rank = int(path[len(top):].split("/")[1][4:])
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        for r in csv.DictReader(f):
            if calls[rank] and calls[rank][-1][0]["seq"] == r["seq"]:
                calls[rank][-1].append(r)
            else:
                calls[rank].append([r])
for c in calls.values():
    c.sort(key=lambda rows: int(rows[0]["start_ns"]))
clock = {r["rank"]: r["clock_correction_ns"] for r in report["ranks"]}
until = report["first_ns"] + round(report["duration_s"] * 1e9)

# Time per step by rank.
heat = d["heat"]
digit = {c: i for i, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}


def decode(s):
    for i in range(0, len(s), 3):
        v = digit[s[i]] << 12 | digit[s[i + 1]] << 6 | digit[s[i + 2]]
        yield (2 ** ((v - 1) / 8192) - 1) * 1000 if v else None


for what in ("step", "inside"):
    have, want = list(decode(heat[what])), []
    for rank in d["ranks"]:
        cells = collections.defaultdict(list)
        begin, inside = {}, collections.defaultdict(float)
        for c in calls[rank]:
            r, step = c[0], int(c[0]["step"])
            begin.setdefault(step, int(r["start_ns"]))
            dur = int(r["dur_ns"]) if r["dur_ns"] else max(0, until - int(r["start_ns"]))
            if r["comm"] and not r["parent"]:
                inside[step] += int(r["wait_ns"] or 0) if "async" in r["flags"] else dur
        last = max(int(c[0]["start_ns"]) + (int(c[0]["dur_ns"]) if c[0]["dur_ns"] else max(0, until - int(c[0]["start_ns"])))
                   for c in calls[rank]) if calls[rank] else 0
        steps = sorted(begin)
        for i, step in enumerate(steps):
            end = begin[steps[i + 1]] if i + 1 < len(steps) else last
            cells[(step - heat["first"]) // heat["per"]].append(inside[step] if what == "inside" else end - begin[step])
        want += [sum(cells[k]) / len(cells[k]) if cells[k] else None for k in range(heat["columns"])]
    bad = [(i, a, b) for i, (a, b) in enumerate(zip(have, want))
           if (a is None) != (b is None) or a is not None and abs(a - b) > 2e-3 * b + 2000]
    check(f"heat map, {what}: {len(want)} cells", len(have) == len(want) and not bad, bad[:3])

# Timelines.
check("a timeline for each finding that is somewhere in the run",
      all(d["windows"][f["window"]]["finding"] == i for i, f in enumerate(d["findings"]) if f["window"] >= 0))
for w in d["windows"]:
    flat, base = w["calls"], int(w["base_ns"])
    have = collections.Counter()
    for i in range(0, len(flat), 12):
        row, start, dur, api, comm, seq, bits, step, size, stack, number, peer = flat[i:i + 12]
        have[w["rows"][row], number, w["apis"][api], step, seq, bits, start, 0 if bits & OPEN else dur] += 1
    want = collections.Counter()
    for rank in w["rows"]:
        for c in calls[rank]:
            r = c[0]
            if abs(int(r["step"]) - w["step"]) > 1:
                continue
            flags = r["flags"].split(";")
            bits = (OPEN if not r["dur_ns"] else 0) | (ASYNC if "async" in flags else 0) | \
                (ERROR if any(f.startswith("error") for f in flags) else 0)
            want[rank, int(r["seq"]), r["api"], int(r["step"]), int(r["comm_seq"] or -1), bits,
                 (int(r["start_ns"]) + clock[rank] - base) // 100, int(r["dur_ns"] or 0) // 100] += 1
    if w["skipped"]:
        check(f"timeline of step {w['step']}: nothing that is not there", not have - want)
    else:
        check(f"timeline of step {w['step']}: the calls of three steps", have == want, list(((have - want) + (want - have)).items())[:2])

# Operations, slowest calls, and time by stack.
have = {(o["op"], o["api"], o["comm"]): (o["calls"], o["bytes"]) for o in d["operations"]}
want = collections.Counter()
for c in (c for of in calls.values() for c in of):
    want[c[0]["api"]] += 1
of_api = collections.Counter()
for (_, api, _), (n, _) in have.items():
    of_api[api] += n
check("operations: the calls of each function", of_api == want and len(have) == len(d["operations"]), (of_api, want))
check("operations: the one with the most time first",
      [o.get("ns", 0) for o in d["operations"]] == sorted((o.get("ns", 0) for o in d["operations"]), reverse=True))
longest = max((int(c[0]["dur_ns"]) for of in calls.values() for c in of if c[0]["dur_ns"]), default=0)
check("the slowest call", not d["slowest"] or d["slowest"][0]["ns"] == longest, (longest, d["slowest"][:1]))
python = {}
for path in glob.glob(top + "/rank*/stack_info.csv"):
    with open(path, newline="") as f:
        for r in csv.DictReader(f):
            python[int(path[len(top):].split("/")[1][4:]), r["stack_id"]] = r["python_stack"].split(" <- ")[0]
want, places = collections.Counter(), collections.Counter()
for rank, of in calls.items():
    for r in (c[0] for c in of):
        if not r["comm"] or r["parent"]:
            continue
        ns = int(r["wait_ns"] or 0) if "async" in r["flags"] else \
            int(r["dur_ns"]) if r["dur_ns"] else max(0, until - clock[rank] - int(r["start_ns"]))
        inner = re.fullmatch(r"(?:.*/)?(\S+) (\S+)", python.get((rank, r.get("stack_id") or r.get("stack")), "") or "")
        want[r["api"], f"{inner[2]} ({inner[1]})" if inner else None] += ns
for p in d["flame"]:
    inner = p["stack"].split(" <- ")[0]
    places[p["api"], inner if (p["api"], inner) in want else None] += p["ns"]
bad = [(k, places[k], v) for k, v in want.items() if abs(places[k] - v) > 1e-3 * v + 1e5 * len(calls)]
check("time by stack", not bad, bad[:2])
check("findings: the ranks that are named, and the others",
      [(f["ranks"], f["others"]) for f in d["findings"]] == [(f["ranks"], f.get("others", [])) for f in report["findings"]],
      [(f["ranks"], f["others"]) for f in d["findings"]])

# Statistics of the sites.
sums = collections.defaultdict(lambda: [math.inf, -math.inf, 0, 0, 0, 0])
for rank in d["ranks"]:
    for c in calls[rank]:
        outs = [r for r in c if r["io"] == "out" and r["norm"]]
        r = (outs or [r for r in c if r["io"] == "in" and r["norm"]] or [None])[0]
        if r is None or not r["comm"]:
            continue
        k = (r["api"], "result" if outs else "input", int(c[0]["count"]), c[0]["dtype"], r["comm"],
             (int(r["step"]) - heat["first"]) // heat["per"])
        s = sums[k]
        s[0], s[1] = min(s[0], float(r["min"])), max(s[1], float(r["max"]))
        s[2] += 1
        s[3] += float(r["norm"]) if math.isfinite(float(r["norm"])) else 0
        s[4] += int(r["nans"])
        s[5] += int(r["infs"])
ids = {c["comm"] for c in d["comms"]}
label = {}
for c in report["comms"]:
    label[c["comm"]] = c["name"] if c["kind"] == "world" else c["comm"]
bad = []
for s in d["sites"]:
    comm = [k for k, v in label.items() if s["comm"].startswith(v)][0]
    for i, p in enumerate(s["points"]):
        k = sums.get((s["api"], s["io"], s["count"], s["dtype"], comm, i))
        if (p == 0) != (k is None):
            bad.append((s["api"], i, p, k))
        elif k and (p[3] is None) != bool(k[4] or k[5]):
            bad.append((s["api"], i, "a norm of values that are not numbers is a gap", p, k))
        elif k and (p[6:] != k[4:] or any(v is not None and math.isfinite(w) and abs(v - w) > 1e-4 * abs(w) + 1e-300
                                          for v, w in ((p[0], k[0]), (p[1], k[1]), (p[3], k[3] / k[2])))):
            bad.append((s["api"], i, p, k))
check(f"statistics of {len(d['sites'])} call sites", bool(d["sites"]) and not bad, bad[:2])

# Numbers of steps, over the ranks that have one.
found = collections.defaultdict(list)
for path in glob.glob(top + "/rank*/scalars_*.csv"):
    with open(path) as f:
        for r in csv.DictReader(f):
            found[r["name"], (int(r["step"]) - heat["first"]) // heat["per"]].append(float(r["value"]))
have = {(n["name"], i): p for n in d["numbers"] for i, p in enumerate(n["points"]) if p}
bad = [(k, have.get(k), v) for k, v in found.items()
       if k not in have or any(abs(a - b) > 1e-7 * abs(b) for a, b in zip(have[k], (sum(v) / len(v), min(v), max(v))))]
check("numbers of steps", not bad and have.keys() == found.keys(), bad[:2] or set(have) - set(found))
