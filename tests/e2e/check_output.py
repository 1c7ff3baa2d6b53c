#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Checks that an output folder keeps to the contract, whatever was recorded: files, header, columns, joins.

    check_output.py DIR [OPTIONS]      DIR: an output folder, or one rank's. Exit 1, and a line for each kind of breach.

  --running       processes live or were killed: journals may be there, counts may lag
  --partial       not every rank recorded every call (filters, drops, errors): ranks are not joined
  --killed        processes may have been killed before they had a journal: a folder may have meta.json alone, or nothing
  --p2p           each message is joined too: the n-th send with the n-th receive (no wildcard receives under way together)
  --states LIST   allowed states of meta.json (default: finished)
"""
import argparse
import collections
import csv
import io
import json
import os
import re
import sys

import columns
from rows import Output, calls, flags

HEADER = ",".join(columns.names("calls"))
HEADERS = {name + ".csv": ",".join(columns.names(name)) for name in ("stack_info", "comms", "modules", "names")}
SCALARS = ",".join(columns.names("scalar_rows"))
SCALAR_NAMES = columns.names("scalars")
SIZES = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
         "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
         "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e8m0fnu": 1, "float8_e4m3fnuz": 1,
         "float8_e5m2fnuz": 1, "float4_e2m1fn_x2": 1}
OPS = ("all_reduce reduce broadcast all_gather all_gather_v gather gather_v scatter scatter_v reduce_scatter reduce_scatter_v "
       "all_to_all all_to_all_v scan exscan barrier send recv send_recv neighbor_all_gather neighbor_all_gather_v "
       "neighbor_all_to_all neighbor_all_to_all_v put get accumulate get_accumulate fetch_and_op compare_and_swap "
       "win_fence win_lock win_unlock win_flush win_post win_start win_complete win_wait signal wait_signal file_read file_write file_sync file_set agree revoke").split()
REDOPS = "sum prod min max avg land lor lxor band bor bxor minloc maxloc replace user".split()
VALUES = {"<code>": r"-?\d+", "<n>": r"\d+(-\d+)?"}
FLAGS = [re.sub("<.*>", lambda m: VALUES[m[0]], word) for word in columns.names("flags")]
P2P = ("send", "recv", "send_recv")
OPERATORS = ("acl", "aten", "blas", "cblas", "cublas")  # libraries whose operations have names of their own
NUMBER = r"(nan|-?inf|-?\d+(\.\d+)?(e[+-]?\d+)?)"
WHOLE = r"\d+"
COLUMNS = {
    "step": WHOLE, "micro_step": rf"({WHOLE})?", "seq": r"[1-9]\d*", "lib": r"[a-z0-9]+", "api": r"[^,\s]+",
    "op": "|".join(OPS), "comm": r"([0-9a-f]{16})?", "comm_seq": rf"({WHOLE})?", "rank": rf"({WHOLE})?",
    "size": rf"({WHOLE})?", "redop": "|".join(REDOPS + [""]), "root": rf"({WHOLE})?", "peer": rf"({WHOLE})?",
    "io": "in|out|", "index": rf"({WHOLE})?", "dtype": "|".join(list(SIZES) + ["other", ""]), "shape": r"(-|\d+(x\d+)*)?",
    "count": rf"({WHOLE})?", "bytes": rf"({WHOLE})?", "min": f"({NUMBER})?", "max": f"({NUMBER})?", "mean": f"({NUMBER})?",
    "norm": f"({NUMBER})?", "zeros": r"(\d(\.\d+)?(e-\d+)?)?", "nans": rf"({WHOLE})?", "infs": rf"({WHOLE})?",
    "start_ns": r"\d{19}", "dur_ns": rf"({WHOLE})?", "thread": r"[1-9]\d*", "stack_id": r"([1-9]\d*)?",
    "flags": "(%s)(;(%s))*|" % (("|".join(FLAGS),) * 2), "parent": r"([1-9]\d*)?",
    "phase": "(%s)?" % "|".join(columns.names("phases")), "name": r"[^\n]*", "tag": rf"({WHOLE})?", "wait_ns": rf"({WHOLE})?",
    "dev_ns": rf"({WHOLE})?", "crc32": r"([0-9a-f]{8})?"}
# One that was appended says only that it is there.
COLUMNS = {k: re.compile(COLUMNS.get(k, "[^\\n]*")) for k in columns.names("calls")}
STATISTICS = ("min", "max", "mean", "norm", "zeros", "nans", "infs")
OF_CALL = ("step", "micro_step", "lib", "api", "op", "comm", "rank", "size", "redop", "root", "start_ns", "dur_ns", "thread",
           "stack_id", "parent", "phase", "wait_ns")
# Collectives that no rank leaves before all have entered.
SYNCHRONISING = ("all_reduce", "barrier", "all_gather", "all_to_all", "reduce_scatter")
# Whose count is the same in these rows of all members.
SAME_COUNT = {"all_reduce": ("in", "out"), "broadcast": ("in", "out"), "reduce": ("in", "out"), "scan": ("in", "out"),
              "exscan": ("in", "out"), "reduce_scatter": ("out",), "all_gather": ("in",)}

breaches = collections.Counter()
examples = {}


def breach(kind, detail=""):
    breaches[kind] += 1
    examples.setdefault(kind, detail)


def members(text):
    out = []
    for part in re.split(r"[;|]", text):
        lo, _, hi = part.partition("-")
        out += range(int(lo), int(hi or lo) + 1)
    return out


def check_file(path, header):
    with open(path, "rb") as f:
        raw = f.read()
    where = "/".join(path.split("/")[-2:])
    try:
        text = raw.decode()
    except UnicodeDecodeError as e:
        breach("UTF-8", f"{where}: {e}")
        return
    if not text.endswith("\n"):
        breach("whole lines", where)
    if text.split("\n", 1)[0] != header:
        breach("header", f"{where}: {text[:80]}")
    table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    for i, row in enumerate(table):
        if len(row) != header.count(",") + 1:
            breach("number of columns", f"{where}:{i + 1}: {len(row)}")
    again = io.StringIO()
    csv.writer(again, lineterminator="\n").writerows(table)
    if again.getvalue() != text:
        breach("RFC 4180", where)


def check_kind(path, file, per_file):
    """A file of a kind: what it is called, its header, whole rows of its steps."""
    word, a, b = re.fullmatch(r"(.+)_(\d+)-(\d+)\.csv", file).groups()
    with open(f"{path}/{file}", newline="") as f:
        text = f.read()
    table = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    head = table[0] if table else []
    if int(a) % per_file or int(b) != int(a) + per_file - 1:
        breach("block", file)
    if not text.endswith("\n"):
        breach("whole lines", file)
    if head[:3] != ["vpp_stage", "name", "step"] or head[-2:] != ["shape", "dtype"] or len(head) < 6:
        breach("header of a kind", f"{file}: {head}")
        return
    for i, row in enumerate(table[1:]):
        where = f"{file}:{i + 2}"
        if len(row) != len(head):
            breach("number of columns", f"{where}: {len(row)}")
            continue
        if not row[0].isdigit() or not row[1] or not row[2].isdigit() or not int(a) <= int(row[2]) <= int(b):
            breach("columns of a kind", f"{where}: {row[:3]}")
        if not re.fullmatch(r"\[(\d+(, \d+)*)?\]", row[-2]) or row[-1].split(".")[-1] not in list(SIZES) + ["other"]:
            breach("shape and dtype of a kind", f"{where}: {row[-2:]}")
        for v in row[3:-2]:
            if not re.fullmatch(NUMBER, v):
                breach("a value of a kind", f"{where}: {v!r}")


def check_row(r, where):
    for k, pattern in COLUMNS.items():
        # What a program passes wrongly is shown as it is.
        if k == "op" and (r["lib"] in OPERATORS or r["api"].startswith("ms::")) and re.fullmatch(r"[A-Za-z0-9_.]+", r[k]):
            continue
        if not pattern.fullmatch(r[k]) and not (k == "root" and "error" in r["flags"]):
            breach(f"column {k}", f"{where}: {r[k]!r}")
    has = [k for k in ("index", "dtype", "count", "bytes") if r[k]]
    if r["io"]:
        if len(has) != 4:
            breach("a row of a tensor without its columns", f"{where}: {has}")
            return
    elif has or any(r[k] for k in STATISTICS):
        breach("tensor columns without io", f"{where}: {has}")
    if not r["io"]:
        return
    count, size, f = int(r["count"]), SIZES.get(r["dtype"]), flags(r)
    if size and int(r["bytes"]) != count * size and "derived" not in f:
        breach("bytes", f"{where}: {r['dtype']} {count} {r['bytes']}")
    measured = [k for k in STATISTICS if r[k]]
    if not measured:
        if count and "nostats" not in f:
            breach("no statistics and no flag nostats", f"{where}: {r['dtype']} {count}")
        return
    if len(measured) != len(STATISTICS) or not count or "nostats" in f or r["dtype"] == "other":
        breach("statistics where there are none", where)
        return
    nans, infs, n = int(r["nans"]), int(r["infs"]), count * (2 if r["dtype"].startswith("complex") else 1)
    lo, hi = float(r["min"]), float(r["max"])
    if nans > n or infs > n or nans + infs > n or not 0 <= float(r["zeros"]) <= 1:
        breach("shares and counts", where)
    if (nans == n) != (lo != lo) or (nans < n and not lo <= hi) or float(r["norm"]) < 0:
        breach("min and max", f"{where}: {lo} {hi}")


def check_call(rows, where):
    first = rows[0]
    for k in OF_CALL:
        if any(r[k] != first[k] for r in rows):
            breach(f"rows of a call differ in {k}", where)
    for io_ in ("in", "out"):
        index = [int(r["index"]) for r in rows if r["io"] == io_ and r["index"]]
        if index != list(range(len(index))):
            breach("index counts from 0", f"{where}: {index}")
    if any(not r["io"] for r in rows) and len(rows) > 1:
        breach("an empty row beside others", where)
    f = flags(first)
    if len(set(f)) != len(f):
        breach("a flag twice", where)
    failed = any(x.startswith("error:") for x in f)
    if ("open" in f) != (first["dur_ns"] == ""):
        breach("open and dur_ns", where)
    if ("open" in f or failed) and any(r["io"] == "out" for r in rows):
        breach("an open or failed call has outputs", where)
    if first["op"] == "barrier" and first["io"]:
        breach("a barrier has a tensor", where)


def check_folder(o, name, options):
    path, meta = o.paths[name], o.M.get(name)
    if options.killed and all(f.startswith("meta.json") and (f == "meta.json" or not os.path.getsize(f"{path}/{f}")) for f in os.listdir(path)):
        return
    if meta is None:
        breach("meta.json", name)
        return
    per_file = meta["steps"]["per_file"]
    for file in o.files(name):
        m = re.fullmatch(r"calls_(\d+)-(\d+)(\.[1-9]\d*)?\.csv", file)
        if m:
            if int(m[1]) % per_file or int(m[2]) != int(m[1]) + per_file - 1:
                breach("block", f"{name}/{file}")
            check_file(f"{path}/{file}", HEADER)
        elif re.fullmatch(r"scalars_\d+-\d+\.csv", file):
            check_file(f"{path}/{file}", SCALARS)
            check_scalars(name, path, file, per_file)
        elif re.fullmatch(r"[A-Za-z0-9_]+_(\d+)-(\d+)\.csv", file):
            check_kind(path, file, per_file)
        elif file in ("module_struct.json", "parallel.json"):
            json.load(open(f"{path}/{file}"))
        elif file == "monitor.log":
            if not all(line.strip() and line.endswith("\n") for line in open(f"{path}/{file}", encoding="utf-8")):
                breach("a line of the log that is none", f"{name}/{file}")
        elif file == "alerts.jsonl":
            for line in open(f"{path}/{file}"):
                json.loads(line)
        elif file in HEADERS:
            check_file(f"{path}/{file}", HEADERS[file])
        # Of a job that runs, or was killed, what is being replaced may stand beside it.
        elif file not in ("meta.json", "module_struct.json") and not (options.running and (file == "journal.bin" or file.endswith(".tmp"))):
            breach("an undocumented file", f"{name}/{file}")
    rows = o.on(name)
    by_seq = collections.defaultdict(list)
    for i, r in enumerate(rows):
        where = f"{name}/{r['file']} seq {r['seq']} {r['api']}"
        if None in r or None in r.values():
            continue
        check_row(r, where)
        by_seq[int(r["seq"])].append(r)
        a, b = map(int, re.match(r"calls_(\d+)-(\d+)", r["file"]).groups())
        if not a <= int(r["step"]) <= b:
            breach("step outside its block", where)
    for seq, group in by_seq.items():
        check_call(group, f"{name} seq {seq} {group[0]['api']}")
    check_threads(name, calls(rows))
    check_joins(o, name, rows)
    check_meta(name, meta, rows, by_seq, options)


def check_scalars(name, path, file, per_file):
    a, b = map(int, re.findall(r"\d+", file))
    if a % per_file or b != a + per_file - 1:
        breach("block", f"{name}/{file}")
    seen = set()
    with open(f"{path}/{file}", newline="") as f:
        for r in csv.DictReader(f):
            where = f"{name}/{file}: {r}"
            if not (r["step"].isdigit() and a <= int(r["step"]) <= b):
                breach("a scalar outside its block", where)
            if not re.fullmatch(r"([A-Za-z0-9_-]+)(/(opt\d+|group\d+|micro\d+|opt\d+\.group\d+))?", r["name"]) or \
                    r["name"].split("/")[0] not in SCALAR_NAMES:
                breach("name of a scalar", where)
            if not re.fullmatch(NUMBER, r["value"]) or not re.fullmatch(r"\d{19}", r["wall_ns"]):
                breach("value or time of a scalar", where)
            if (r["step"], r["name"]) in seen:
                breach("a scalar twice in a step", where)
            seen.add((r["step"], r["name"]))


def check_threads(name, first):
    """Numbers increase at entry within a thread, and calls of a thread do not overlap."""
    last = {}
    for r in sorted(first, key=lambda r: (int(r["start_ns"]), int(r["seq"]))):
        t, parent = r["thread"], bool(r["parent"])
        if parent:
            continue
        if t in last and int(r["seq"]) <= last[t][0]:
            breach("seq increases within a thread", f"{name} seq {r['seq']} thread {t}")
        if t in last and last[t][1] > int(r["start_ns"]) + 100:
            breach("two calls of a thread at once", f"{name} seq {r['seq']} thread {t}")
        synchronous = "async" not in flags(r) and "unwound" not in flags(r) and r["dur_ns"]
        last[t] = int(r["seq"]), int(r["start_ns"]) + int(r["dur_ns"]) if synchronous else 0


def check_joins(o, name, rows):
    stacks = [s for s in o.S if s["folder"] == name]
    comms = [c for c in o.C if c["folder"] == name]
    known = {s["stack_id"]: s for s in stacks}
    if len(known) != len(stacks):
        breach("stack_id is unique", name)
    for s in stacks:
        if not (s["stack_id"].isdigit() and s["first_step"].isdigit() and s["api"] and s["native_stack"]):
            breach("stack_info.csv", f"{name}: {s['stack_id']}")
    by_id = {c["comm"]: c for c in comms}
    if len(by_id) != len(comms):
        breach("a communicator is listed once", name)
    for c in comms:
        if not (re.fullmatch("[0-9a-f]{16}", c["comm"]) and c["kind"] and c["lib"] and int(c["size"]) > int(c["rank"]) >= 0):
            breach("comms.csv", f"{name}: {c['comm']}")
        if c["world_ranks"] and "..." not in c["world_ranks"] and "|" not in c["world_ranks"] and \
                len(members(c["world_ranks"])) != int(c["size"]):
            breach("world_ranks", f"{name}: {c['world_ranks']}")
    for r in rows:
        where = f"{name} seq {r['seq']} {r['api']}"
        if r["stack_id"] and r["stack_id"] not in known:
            breach("stack_id that is not in stack_info.csv", where)
        elif r["stack_id"] and int(known[r["stack_id"]]["first_step"]) > int(r["step"]):
            breach("first_step", where)
        c = by_id.get(r["comm"])
        # Operators communicate over another library's.
        if r["comm"] and (not c or (c["size"], c["rank"]) != (r["size"], r["rank"]) or c["lib"] != r["lib"] and r["lib"] not in OPERATORS):
            breach("communicator that is not so in comms.csv", where)


def check_meta(name, meta, rows, by_seq, options):
    if meta["state"] not in options.states.split(","):
        breach("state", f"{name}: {meta['state']}")
    # Of a run that went on in an earlier one's folder it counts its own rows.
    if options.running or "resumed" in meta:
        return
    c = meta["calls"]
    missing = c["dropped"]["journal_full"] + c["dropped"]["too_many_threads"] + sum(
        v for k, v in c["skipped"].items() if k != "nested")
    # A killed process may have seen a call, one in each thread, that it had not begun to record.
    killed = len({r["thread"] for r in rows}) if meta["state"] == "recovered" else 0
    if not 0 <= c["seen"] - c["recorded"] - missing <= killed:
        breach("seen = recorded + dropped + skipped", f"{name}: {c}")
    if meta["removed_blocks"] == 0 and not meta["lost_rows"]:
        if c["recorded"] != len(by_seq):
            breach("calls in the files are those recorded", f"{name}: {c['recorded']} {len(by_seq)}")
        if meta["rows"] != len(rows):
            breach("rows in the files are those counted", f"{name}: {meta['rows']} {len(rows)}")
    if rows and not meta["removed_blocks"]:
        last = max(int(r["start_ns"]) + int(r["dur_ns"] or 0) for r in rows)
        if abs(meta["first_record_ns"] - min(int(r["start_ns"]) for r in rows)) > 1000 or abs(meta["last_record_ns"] - last) > 1000:
            breach("lifetime", f"{name}: {meta['first_record_ns']} {meta['last_record_ns']} {last}")
    if sum(c["dropped"].values()) and not meta["missing"]:
        breach("why records are missing is reported", name)


def check_ranks(o):
    """Calls of one (comm, comm_seq) on all its members are the same operation, at the same time."""
    met = collections.defaultdict(dict)
    who = {c["comm"]: members(c["world_ranks"]) for c in o.C if c["world_ranks"] and "..." not in c["world_ranks"]}
    for name in o.dirs:
        m = re.fullmatch(r"rank(\d+)", name)
        if not m:
            continue
        for r in calls(o.on(name)):
            if r["op"] in P2P or not r["comm_seq"] or r["parent"] or {"localcomm", "guessed"} & set(flags(r)):
                continue
            key = r["comm"], int(r["comm_seq"])
            if int(m[1]) in met[key]:
                breach("comm_seq is used once on a rank", f"{name} {key}")
            met[key][int(m[1])] = r
    counts, moved = collections.defaultdict(set), collections.Counter()
    for r in o.R:
        if r["op"] not in P2P and r["comm_seq"]:
            moved[r["comm"], int(r["comm_seq"])] += int(r["count"] or 0)
        if r["io"] in SAME_COUNT.get(r["op"], ()) and r["comm_seq"] and "|" not in str(who.get(r["comm"])):
            counts[r["comm"], int(r["comm_seq"])].add((r["count"], r["bytes"]))
    # Key max_overhead: these ranks do not record every call.
    thinned = {int(n[4:]) for n in o.dirs if re.fullmatch(r"rank\d+", n) and o.M[n].get("calls", {}).get("skipped", {}).get("overhead")}
    for key, by_rank in met.items():
        some = next(iter(by_rank.values()))
        where = f"{key} {some['api']}"
        if key[0] in who and sorted(set(by_rank) | thinned & set(who[key[0]])) != sorted(who[key[0]]):
            breach("all members have the call", f"{where}: {sorted(by_rank)} of {who[key[0]]}")
        if len({(r["op"], r["redop"]) for r in by_rank.values()}) > 1:
            breach("members disagree about the operation", where)
        two_groups = any("|" in c["world_ranks"] for c in o.C if c["comm"] == key[0])
        if not two_groups and len({r["root"] for r in by_rank.values()}) > 1:
            breach("members disagree about the root", where)
        if not two_groups and len(counts[key]) > 1 and "derived" not in some["flags"]:
            breach("members disagree about the count", f"{where}: {counts[key]}")
        if some["op"] in SYNCHRONISING and not two_groups and (moved[key] or some["op"] == "barrier") and \
                not any(f in r["flags"] for r in by_rank.values() for f in ("error", "open", "unwound", "untracked")):
            late = max(int(r["start_ns"]) for r in by_rank.values())
            early = min(int(r["start_ns"]) + int(r["dur_ns"]) for r in by_rank.values())
            if late > early + 20000:
                breach("members were in it at the same time", f"{where}: {late - early} ns")


def check_messages(o):
    sent, got = {}, {}
    for r in o.R:
        m = re.fullmatch(r"rank(\d+)", r["folder"])
        if r["op"] not in P2P or not m or not r["io"] or not r["peer"] or not r["comm_seq"]:
            continue
        if r["io"] == "in":
            key = r["comm"], r["rank"], r["peer"], r["tag"], r["comm_seq"]
        else:
            key = r["comm"], r["peer"], r["rank"], r["tag"], r["comm_seq"]
        where = sent if r["io"] == "in" else got
        if key in where:
            breach("a message has its number to itself", f"{key} {r['api']}")
        where[key] = r
    for key, r in got.items():
        s = sent.get(key)
        if not s:
            breach("a received message was sent", f"{key} {r['api']}")
        elif s["bytes"] != r["bytes"]:
            breach("a message arrives as it was sent", f"{key}: {s['bytes']} {r['bytes']}")
        elif s["dtype"] == r["dtype"] and any(s[k] != r[k] for k in STATISTICS):
            breach("a message arrives as it was sent", f"{key}: {s['min']} {r['min']}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dir")
    p.add_argument("--running", action="store_true")
    p.add_argument("--partial", action="store_true")
    p.add_argument("--killed", action="store_true")
    p.add_argument("--p2p", action="store_true")
    p.add_argument("--states", default="finished")
    options = p.parse_args()
    o = Output(options.dir)
    if not o.R and not o.V and not options.killed:
        breach("rows", "there are none")
    for name in o.dirs:
        check_folder(o, name, options)
    if not options.partial:
        check_ranks(o)
    if options.p2p:
        check_messages(o)
    for kind, n in breaches.items():
        print(f"{kind}: {n} times, first {examples[kind]}")
    print(f"# {len(o.dirs)} folders, {len(o.R)} rows")
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
