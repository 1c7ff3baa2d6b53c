# SPDX-License-Identifier: Apache-2.0
"""
Compares the rows of autograd's nodes with what hooks saw in tests/apps/py/backward.py --truth, and looks for the operator
that made each.

    backward_truth.py OUTPUT TRUTH.json [--all] [--unordered]    --all: there are no other nodes
                                                        --unordered: of several threads
"""
import json
import math
import re
import sys

import rows

o = rows.Output(sys.argv[1])
every, unordered = "--all" in sys.argv, "--unordered" in sys.argv
with open(sys.argv[2]) as f:
    truth = json.load(f)
calls = {}
for r in o.R:
    calls.setdefault(int(r["seq"]), []).append(r)
nodes, makers, bad = [], {}, []
for seq in sorted(calls):
    first = calls[seq][0]
    span = [m for m in (re.fullmatch(r"node:(\d+)(?:-(\d+))?", x) for x in rows.flags(first)) if m]
    is_node = first["api"].startswith("torch::autograd::generated::")
    if is_node:
        if first["phase"] != "backward" or first["op"] not in first["api"] or first["lib"] != "aten" or len(span) != 1:
            bad.append(f"seq {seq}: {first}")
            continue
        nodes.append((first["op"], int(span[0][1]), calls[seq]))
    elif span:
        last = int(span[0][2] or span[0][1])
        for n in range(int(span[0][1]), last + 1):
            makers.setdefault(n, []).append(dict(first, last=last))


def numbers(r):
    return [float(r[k]) for k in ("count", "nans", "infs", "min", "max", "mean", "norm", "zeros")]


def summed(r, want):
    """What was broadcast has the gradient of the whole when the node returns it; autograd adds it up before any hook."""
    return int(r["count"]) > want[1] and math.isclose(float(r["mean"]) * int(r["count"]), want[6] * want[1], rel_tol=1e-2 if r[
        "dtype"] == "bfloat16" else 1e-6, abs_tol=1e-6 * float(r["norm"]) * math.sqrt(int(r["count"])))


def same(r, want):
    if r["shape"] != ("x".join(map(str, want[0])) or "-"):
        return len(want) > 3 and r["io"] == "out" and r["mean"] != "" and summed(r, want)
    if len(want) == 1:
        return not r["min"]
    if not r["count"] or not r["nans"]:
        return False
    if len(want) == 3:
        return int(r["nans"]) == want[2]
    return all(a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
               for a, b in zip(numbers(r), want[1:]))


def why(call, t):
    for io in ("in", "out"):
        side = sorted((r for r in call if r["io"] == io), key=lambda r: int(r["index"]))
        want = t[io]
        if io == "out" and "more" in rows.flags(call[0]):
            want = want[:len(side)]
        if len(side) != len(want) or (want == [] and t[io]):
            return f"{len(side)} {io} tensors, not {len(want)}"
        for r, w in zip(side, want):
            if not same(r, w):
                return f"{io} {r['index']}: {r['shape']} {r['dtype']} {r['min'] and numbers(r)} not {w}"
    return None


have = [n for n in nodes if "unwound" not in rows.flags(n[2][0])]
at = 0
for t in truth["nodes"]:
    reason = "not recorded"
    for k in range(0 if unordered else at, len(have)):
        if have[k] and have[k][:2] == (t["op"], t["node"]):
            reason = why(have[k][2], t)
            if reason is None:
                if every and not unordered and k != at:
                    reason = f"{have[at][:2]} before it"
                if unordered:
                    have[k] = None
                at = k + 1
                break
            if not unordered:
                break
    if reason:
        bad.append(f"{t['op']} {t['node']}: {reason}")
if every and len(have) != len(truth["nodes"]):
    bad.append(f"{len(have)} nodes, not {len(truth['nodes'])}")
for op, node, n in truth["made"]:
    if [(m["op"], m["last"]) for m in makers.get(n, [])] != [(op, n)]:
        bad.append(f"{node} {n}: made by {[m['op'] for m in makers.get(n, [])]}, not {op}")
# Without threads each number is one node's, and so is its operator.
if not unordered:
    for op, n, call in nodes:
        if len(makers.get(n, [])) != 1:
            bad.append(f"{op} {n}: made by {[m['op'] for m in makers.get(n, [])]}")
for line in bad:
    print(line)
print(f"{len(truth['nodes'])} nodes, {len(truth['made'])} pairs, {len(nodes)} recorded, {len(bad)} wrong")
sys.exit(bool(bad) or not truth["nodes"])
