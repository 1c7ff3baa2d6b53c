# SPDX-License-Identifier: Apache-2.0
"""
What `probe top` and `probe serve` have to say of an output folder, computed from its CSV files by the definitions of docs/how-to/live.md.

    live_truth.py FOLDER FILE.json FILE.prom     prints what differs; nothing: nothing does

FILE.json is what /json gave, FILE.prom what /metrics gave. Every file of calls is to be shorter than what is looked at.
"""
import csv
import glob
import json
import math
import re
import sys

FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n, "all_gather": lambda n: (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n,
          "all_to_all": lambda n: (n - 1) / n}
LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (\S+)$')


def close(a, b):
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-6 * max(abs(a), abs(b))


def samples(path):
    """Each sample of the text format: (name, labels, value); checks that each family has one HELP and TYPE, before its samples."""
    out, types, done = [], {}, set()
    last = None
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        if line.startswith("# "):
            kind, name, rest = line[2:].split(" ", 2)
            assert kind in ("HELP", "TYPE"), line
            assert name not in done or name == last, f"{name} comes twice"
            if kind == "TYPE":
                assert name not in types and rest in ("gauge", "counter"), line
                types[name] = rest
            last = name
            continue
        m = LINE.match(line)
        assert m, f"no sample: {line}"
        assert m[1] == last and m[1] in types, f"{m[1]} without its TYPE"
        done.add(m[1])
        labels = dict(re.findall(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"', m[2] or ""))
        out.append((m[1], labels, float(m[3])))
    keys = [(n, tuple(sorted(l.items()))) for n, l, _ in out]
    assert len(keys) == len(set(keys)), "a sample is there twice"
    return out


def calls_of(folder):
    rows = {}
    for path in sorted(glob.glob(folder + "/calls_*.csv")):
        for row in csv.DictReader(open(path)):
            c = rows.setdefault(row["seq"], dict(row, bytes_of={"in": 0, "out": 0, "": 0}))
            c["bytes_of"][row["io"]] += int(row["bytes"] or 0)
    calls = list(rows.values())
    return calls


def main():
    folder, told, prom = sys.argv[1:4]
    told = json.load(open(told))
    have = samples(prom)
    bad = []

    def check(what, a, b):
        if not (a == b if isinstance(a, (str, bool, int)) and isinstance(b, (str, bool, int)) else close(a, b)):
            bad.append(f"{what}: {a} instead of {b}")

    ranks = {r["rank"]: r for r in told["ranks"]}
    starts, ops = {}, {}
    for r in ranks:
        for c in calls_of(f"{folder}/rank{r}"):
            if "open" in c["flags"] or not c["comm"]:
                continue
            size = max(c["bytes_of"]["in"], c["bytes_of"]["out"])
            unit = 1
            while size // unit >= 1024:
                unit *= 1024
            bucket = f"{size // unit}-{size // unit + 1}{dict(zip((1, 1 << 10, 1 << 20, 1 << 30), ('B', 'KB', 'MB', 'GB')))[unit]}"
            ops.setdefault((r, c["op"], c["comm"], bucket), []).append((size, int(c["dur_ns"] or 0), int(c["size"] or 2)))
            if not c["peer"] and c["comm_seq"]:
                starts.setdefault((c["comm"], c["comm_seq"]), {})[r] = int(c["start_ns"])
    late = {r: [] for r in ranks}
    last = {r: 0 for r in ranks}
    for of in starts.values():
        if len(of) > 1:
            first, end = min(of.values()), max(of.values())
            for r, t in of.items():
                late[r].append((t - first) / 1e6)
                last[r] += t == end and end > first
    for r, told_of in ranks.items():
        if late[r]:
            check(f"rank {r}: late", told_of["late_ms"], sum(late[r]) / len(late[r]))
        n = sum(o["calls"] for o in told_of["operations"])
        check(f"rank {r}: calls", n, sum(len(v) for k, v in ops.items() if k[0] == r))
    for (r, op, comm, bucket), calls in ops.items():
        timed = [(s, ns, n) for s, ns, n in calls if s and ns]
        if not timed:
            continue
        camel = "".join(w.capitalize() for w in op.split("_"))
        p2p = op in ("send", "recv")
        want = {"exec_time_microseconds": sum(ns for _, ns, _ in timed) / len(timed) / 1e3,
                "bus_bandwidth_gbs": math.exp(sum(math.log(s / ns * FACTOR.get(op, lambda n: 1)(n)) for s, ns, n in timed) / len(timed))}
        for name, value in want.items():
            name = ("nccl_p2p_" if p2p else "nccl_collective_" if "exec" in name else "nccl_") + name
            of = [v for n, l, v in have if n == name and l["rank"] == str(r) and l["comm_id"] == comm and l["message_size"] == bucket and
                  l["p2p_operation" if p2p else "collective"] == camel]
            if len(of) != 1:
                bad.append(f"{name} of {op}, {bucket}, rank {r}: {len(of)} samples")
            else:
                check(f"{name} of {op}, {bucket}, rank {r}", of[0], value)
    # Numbers: the last of each name.
    for r, told_of in ranks.items():
        numbers = {}
        for path in sorted(glob.glob(f"{folder}/rank{r}/scalars_*.csv"), key=lambda p: int(re.search(r"_(\d+)-", p)[1])):
            for row in csv.DictReader(open(path)):
                numbers[row["name"]] = float(row["value"])
        check(f"rank {r}: names", " ".join(sorted(told_of["numbers"])), " ".join(sorted(numbers)))
        for name, value in numbers.items():
            check(f"rank {r}: {name}", float(told_of["numbers"].get(name, 1e99)), value)
            metric = "probe_" + re.sub(r"\W", "_", name.split("/")[0]).lower()
            metric += "_milliseconds" if name.endswith("-time") else "_bytes" if name.startswith("memory") else ""
            of = [v for n, l, v in have if n == metric and l["rank"] == str(r) and l.get("part", "") == "".join(name.split("/")[1:])]
            if len(of) != 1:
                bad.append(f"{metric}, rank {r}: {len(of)} samples")
            else:
                check(metric, of[0], value)
    print("\n".join(bad[:20]))


main()
