#!/usr/bin/env bash
# Ranks whose shards have unequal lengths, with a join at their end: the number of a step is not the same step on all of them, so copies and
# learning rates of equal numbers may differ. Nothing is reported of that; of shards of one length it is. All numbers are made here.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/make.py" <<'PY'
import random
import sys
sys.path.insert(0, "tests/e2e")
from report_folder import Rank

top, uneven, parted = sys.argv[1], sys.argv[2] == "uneven", int(sys.argv[3])
RANKS, EPOCHS, BATCHES = 3, 4, 3


def numbers(*key):
    draw = random.Random(repr(key))
    v = [draw.uniform(-1, 1) for _ in range(16)]
    return f"{min(v):.9g},{max(v):.9g},{sum(v) / 16:.9g},{sum(x * x for x in v) ** 0.5:.9g},0,0,0,[16],torch.float32"


for rank in range(RANKS):
    r = Rank(top, rank, RANKS)
    views = {"param_origin": [], "param_updated": [], "grad_unreduced": [], "grad_reduced": []}
    rates, step = [], 0
    for turn in range(EPOCHS * BATCHES):
        epoch, batch = divmod(turn, BATCHES)
        r.call("all_reduce", [("in", {})], start=turn * 10**6, step=step, comm_seq=turn, redop="sum", phase="backward")
        # The rank with one batch more steps alone; the others take part in its reductions, and get its weights at the end of the epoch.
        if uneven and batch == BATCHES - 1 and rank != 1:
            continue
        off = rank if rank == 2 and 0 <= parted <= turn else 0
        for view, key in ("param_origin", ("w", turn, off)), ("param_updated", ("w", turn + 1, off)), ("grad_unreduced", ("own", turn, rank)), \
                ("grad_reduced", ("g", turn)):
            views[view].append(f"0,layer.weight,{step},{numbers(*key)}")
        rates.append(f"{step},learning-rate/group0,{0.1 * 0.5 ** epoch},0")
        step += 1
    r.write(steps=dict(current=step, source="optimizer"))
    for view, lines in views.items():
        with open(f"{r.dir}/{view}_0-99.csv", "w") as f:
            print("vpp_stage,name,step,min,max,mean,norm,zeros,nans,infs,shape,dtype", *lines, sep="\n", file=f)
    with open(f"{r.dir}/scalars_0-99.csv", "w") as f:
        print("step,name,value,wall_ns", *rates, sep="\n", file=f)
PY
report() { # NAME SHARDS PARTED
	PYTHONDONTWRITEBYTECODE=1 python3 "$tmp/make.py" "$tmp/$1" "$2" "$3"
	"$probe" report --json "$tmp/$1" | python3 -c '
import json, sys
print([(f["kind"], f["ranks"], f["step"]) for f in json.load(sys.stdin)["findings"] if f["severity"] != "note"])'
}
is 'even shards, all equal' "$(report even even -1)" '[]'
is 'even shards, copies that part' "$(report parted even 7)" "[('replicas', [2], 7)]"
is 'uneven shards with a join' "$(report joined uneven -1)" '[]'
like 'the verdict says how far the steps were compared' "$("$probe" report "$tmp/joined")" \
	'replicas, unreduced, unequal \(from step 2 on ranks were in different steps when they met\)'
is 'copies that part before the first join' "$(report early uneven 1)" "[('replicas', [2], 1)]"
finish
