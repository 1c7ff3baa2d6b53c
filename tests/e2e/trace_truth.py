# SPDX-License-Identifier: Apache-2.0
"""What a Chrome trace of `probe export` says, against the rows. Usage: trace_truth.py TRACE DIR [STEP-STEP [RANKS]].
Prints "ok - ..." or "not ok - ..." lines."""
import collections
import csv
import glob
import gzip
import json
import sys

trace, top = sys.argv[1:3]
lo, hi = map(int, sys.argv[3].split("-")) if len(sys.argv) > 3 else (0, 1 << 60)
only = set(map(int, sys.argv[4].split(","))) if len(sys.argv) > 4 else None


def check(text, good, detail=""):
    print(("ok - " if good else "not ok - ") + text + ("" if good else f": {detail}"[:300]))


doc = json.load(gzip.open(trace) if trace.endswith(".gz") else open(trace))
events = doc["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
calls = [e for e in slices if e["cat"] == "cpu_op"]

# The calls of the rows: one for each seq of a rank.
rows = {}
members = {}
for path in glob.glob(top + "/rank*/calls_*.csv*"):
    rank = int(path[len(top):].split("/")[1][4:])
    if only is not None and rank not in only:
        continue
    with gzip.open(path, "rt") if path.endswith(".gz") else open(path) as f:
        for r in csv.DictReader(f):
            if lo <= int(r["step"]) <= hi:
                rows.setdefault((rank, int(r["seq"])), []).append(r)
for path in glob.glob(top + "/rank*/comms.csv"):
    for r in csv.DictReader(open(path)):
        members[r["comm"]] = r["world_ranks"]

have = collections.Counter((e["pid"], e["args"]["External id"]) for e in calls)
check("every call is one slice", have == collections.Counter(rows.keys()),
      f"{len(calls)} slices, {len(rows)} calls")
base = doc["baseTimeNanoseconds"]
wrong = []
for e in calls:
    r = rows[e["pid"], e["args"]["External id"]][0]
    if r["api"] + (" (open)" if not r["dur_ns"] else "") != e["name"] or int(r["step"]) != e["args"]["step"]:
        wrong.append(e)
    elif r["dur_ns"] and (round(e["ts"] * 1000) + base != int(r["start_ns"]) or round(e["dur"] * 1000) != int(r["dur_ns"])):
        wrong.append(e)
check("names, steps and times are those of the rows", not wrong, wrong[:1])

# On a track slices nest: Perfetto drops what overlaps.
overlaps = []
tracks = collections.defaultdict(list)
for e in slices:
    tracks[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"]))
for key, track in tracks.items():
    stack = []
    for a, b, name in sorted(track, key=lambda s: (s[0], -s[1])):
        while stack and stack[-1] <= a + 0.0015:
            stack.pop()
        if stack and b > stack[-1] + 0.0015:
            overlaps.append((key, name, a, b, stack[-1]))
        stack.append(b)
check("slices of a track nest", not overlaps, overlaps[:3])
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
check("every track has a name", set(tracks) <= named, set(tracks) - named)

steps = collections.defaultdict(set)
for (rank, _), r in rows.items():
    steps[rank].add(int(r[0]["step"]))
marks = collections.defaultdict(list)
for e in slices:
    if e["cat"] == "user_annotation" and e["name"].startswith("ProfilerStep#"):
        marks[e["pid"]].append(e)
check("each step of each rank is one ProfilerStep", {k: sorted(v) for k, v in steps.items()} ==
      {k: sorted(int(e["name"][13:]) for e in v) for k, v in marks.items()}, marks.keys())
outside = [e for e in calls if not any(m["name"] == f"ProfilerStep#{e['args']['step']}" and
                                       m["ts"] <= e["ts"] + 0.0015 for m in marks[e["pid"]])]
check("a call begins in its step", not outside, outside[:1])

# Messages: what was sent on a communicator from a rank to another with a tag, by its number.
sent, received = set(), set()
for (rank, _), call in rows.items():
    for r in call:
        if r["op"] not in ("send", "recv", "send_recv") or not r["dur_ns"] or not r["peer"]:
            continue
        if r["io"] == "in" or r["op"] == "send":
            sent.add((r["comm"], r["rank"], r["peer"], r["tag"], r["comm_seq"]))
        elif r["io"] == "out" or r["op"] == "recv":
            received.add((r["comm"], r["peer"], r["rank"], r["tag"], r["comm_seq"]))
begin = {e["id"]: e for e in events if e["ph"] == "s"}
end = {e["id"]: e for e in events if e["ph"] == "f"}
check("a flow for each message that was sent and received", begin.keys() == end.keys() and
      len(begin) == len(sent & received), f"{len(begin)} {len(end)} of {len(sent & received)}")
ends = {(e["pid"], e["tid"], round(e["ts"], 3)) for e in calls}
check("flows begin at slices and end in slices",
      all((e["pid"], e["tid"], round(e["ts"], 3)) in ends for e in begin.values()) and
      all(any(a <= e["ts"] <= b for a, b, _ in tracks[e["pid"], e["tid"]]) for e in end.values()))

joined = collections.defaultdict(set)
for (rank, _), call in rows.items():
    r = call[0]
    if r["comm"] and r["comm_seq"] and not r["peer"] and not r["tag"] and "localcomm" not in r["flags"] and not r["parent"]:
        joined[r["comm"], r["comm_seq"]].add(rank)
shown = [e["args"]["ranks"] for e in slices if e["cat"] == "collective"]
most = [len(v) for v in joined.values()]
check("a slice for each collective operation of several ranks", sorted(shown) == sorted(n for n in most if n > 1) or
      sum(shown) <= sum(most) and len(shown) >= sum(n > 1 for n in most), f"{len(shown)} of {len(most)}")

flight = collections.defaultdict(int)
for e in events:
    if e["ph"] == "C" and e["name"] == "bytes in flight":
        flight[e["pid"]] = e["args"]["bytes"]
check("nothing is in flight in the end", not any(flight.values()), dict(flight))
