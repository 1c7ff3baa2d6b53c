"""pipeline_truth.py PRINTED MESSAGES.json STEP...: messages as the program itself named them, and as probe names does, per rank and
op in the order in which they were issued. Prints "same N", or the first that differs."""
import json
import sys
from collections import defaultdict

want, got = defaultdict(list), defaultdict(list)
steps = {int(s) for s in sys.argv[3:]}
for line in open(sys.argv[1]):
    words = line.split()
    if words[:1] == ["T"] and int(words[1]) in steps:
        step, rank, op, peer, way, n = words[1:]
        want[int(step), int(rank), op].append((int(peer), way, int(n)))
for m in json.load(open(sys.argv[2]))["messages"]:
    if m["direction"] != "set-up" and m["step"] in steps:
        peer = m["to"] if m["op"] == "send" else m["from"]
        got[m["step"], m["rank"], m["op"]].append((peer, m["direction"], m["micro_batch"]))
# Within a rank each direction and peer is numbered in its order; how directions mix is the schedule's affair.
for key in sorted(set(want) | set(got)):
    if sorted(want[key]) != sorted(got[key]):
        print("differ at", key, "printed", sorted(want[key]), "named", sorted(got[key]))
        break
else:
    print("same", sum(map(len, want.values())))
