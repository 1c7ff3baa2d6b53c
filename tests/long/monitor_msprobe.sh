#!/usr/bin/env bash
# msprobe 26.2.0's TrainerMon and PrecisionDebugger.save() in a DDP training, and libprobe in front of the same training without them:
# append_output after a resume, and single tensors have the same rows and numbers. Of a data-parallel group msprobe's other ranks skip only
# the reduced gradients, libprobe's write nothing; the rows of both have the same numbers. In a virtual environment of its own in $B/long,
# or with PROBE_TEST_MSPROBE, a Python that has mindstudio-probe 26.2.0 and torch.
# timeout: 1800
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/msprobe.sh
msprobe_python
. tests/e2e/torch.sh
test_python=$python REAL_COMPILER=1
torch_python msprobe
app=tests/apps/py/monitored.py TORCH_LIMIT=600
# What both take, and what each has in its own words: TrainerMon gets the data-parallel group as an argument.
config() { # FILE [MORE]
	echo "{\"targets\": {}, \"print_struct\": false, \"ops\": [\"norm\", \"min\", \"max\", \"mean\"], \"wg_distribution\": true, \"mv_distribution\": true," \
		"\"param_distribution\": true, \"format\": \"csv\", \"step_count_per_record\": 2, \"ndigits\": 9, \"start_step\": 0${2:-}}" >"$tmp/$1.json"
}
same_monitor() { # PEER OURS: prints rows of both, and what differs
	"$python" - "$1" "$2" <<'PY'
import collections
import csv
import glob
import math
import re
import sys


def rows(folder):
    have = collections.defaultdict(list)
    for f in sorted(glob.glob(f"{folder}/*-rank*/*.csv")):
        kind, rank = re.match(r".*/([a-z_]+?)_\d+-\d+\.csv", f), re.search(r"-rank(\d+)-", f)
        if not kind or kind[1] not in ("grad_unreduced", "grad_reduced", "exp_avg", "exp_avg_sq", "param_origin", "param_updated"):
            continue
        for r in csv.DictReader(open(f)):
            # TrainerMon has the names of the wrapped model.
            have[rank[1], kind[1], r["step"], r["name"].removeprefix("module.")].append([float(r[k]) for k in ("norm", "min", "max", "mean")])
    return have


peer, ours = rows(sys.argv[1]), rows(sys.argv[2])
both = peer.keys() & ours.keys()
# A script that PyTorch has aborted at its end ran twice (tests/e2e/torch.sh), and wrote the same rows twice.
wrong = [(k, peer[k], ours[k]) for k in sorted(both)
         if any(not math.isclose(a, b, rel_tol=2e-6, abs_tol=1e-8) for x in peer[k] for y in ours[k] for a, b in zip(x, y))]
print(len(both), sorted({k[:2] for k in peer.keys() - ours.keys()}), sorted(ours.keys() - peer.keys())[:3], wrong[:2])
PY
}

before=()
# append_output: steps 0 to 3, then 4 to 7 into the folders of the first part.
for who in peer ours; do
	config first.$who
	config second.$who ', "append_output": ["Jan01_00-00-00", "Dec31_23-59-59"]'
	part=0
	for steps in '0 4' '4 8'; do
		part=$((part + 1))
		which=$([ $part = 1 ] && echo first || echo second).$who
		[ $part = 1 ] || before[${#before[@]}]=$(find "$tmp/append.$who" -maxdepth 1 -name '*-rank*' | sort)
		if [ $who = peer ]; then
			torchrun_plain 2 MONITOR_OUTPUT_DIR="$tmp/append.peer" $app $steps "$tmp/ckpt.$who" msprobe "$tmp/$which.json"
			mv "$tmp/plain" "$tmp/said.$part"
		else
			new_out
			torchrun_with 2 MONITOR_OUTPUT_DIR="$tmp/append.ours" PROBE_START_ITERATION="${steps% *}" PROBE_CONFIG="$tmp/$which.json" $app $steps "$tmp/ckpt.$who"
			is "append_output, part $part: the same training" "$(grep -E '^[0-9]+ ' "$tmp/said.$part" | sort)" "$(sort "$tmp/with")"
		fi
	done
done
is 'append_output: the second part is in the folders of the first, for both' \
	"$(for who in peer ours; do find "$tmp/append.$who" -maxdepth 1 -name '*-rank*' | sort; done)" "$(printf '%s\n' "${before[@]}")"
is 'append_output: all rows of 8 steps, with equal numbers' "$(same_monitor "$tmp/append.peer" "$tmp/append.ours")" '368 [] [] []'

# One of a data-parallel group's ranks writes.
config group.peer
config group.ours ', "dp_ranks": [0]'
torchrun_plain 2 MONITOR_OUTPUT_DIR="$tmp/group.peer.d" $app 0 3 "$tmp/ckpt" msprobe "$tmp/group.peer.json"
new_out
torchrun_with 2 MONITOR_OUTPUT_DIR="$tmp/group.ours.d" PROBE_CONFIG="$tmp/group.ours.json" $app 0 3 "$tmp/ckpt"
same_monitor "$tmp/group.peer.d" "$tmp/group.ours.d" >"$tmp/group"
# msprobe's other ranks leave out the reduced gradients alone; with dp_ranks they write nothing.
is 'one rank of a group writes: equal numbers' "$(cat "$tmp/group")" \
	"64 [('1', 'exp_avg'), ('1', 'exp_avg_sq'), ('1', 'grad_unreduced'), ('1', 'param_origin'), ('1', 'param_updated')] [] []"

# Single tensors.
for who in peer ours; do
	echo "{\"task\": \"statistics\", \"dump_path\": \"$tmp/save.$who.d\", \"level\": \"debug\", \"statistics\": {}}" >"$tmp/save.$who.json"
done
torchrun_plain 2 $app 0 2 "$tmp/ckpt" msprobe "$tmp/save.peer.json"
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/save.ours.json" $app 0 2 "$tmp/ckpt" save
is 'probe_save: the entries and numbers of PrecisionDebugger.save()' "$("$python" - "$tmp/save" <<'PY'
import glob
import json
import math
import sys


def entries(who):
    have = {}
    for f in glob.glob(f"{sys.argv[1]}.{who}.d/step*/rank*/debug.json"):
        for name, t in json.load(open(f))["data"].items():
            have["/".join(f.split("/")[-3:-1]), name] = t if "Max" in t else t[0] if isinstance(t, list) else t
    return have


peer, ours = entries("peer"), entries("ours")
wrong = [(k, peer[k], ours.get(k)) for k in peer if k not in ours or peer[k]["shape"] != ours[k]["shape"] or
         any(not math.isclose(peer[k][s], ours[k][s], rel_tol=2e-6) for s in ("Max", "Min", "Mean", "Norm"))]
print(len(peer), sorted(peer.keys() ^ ours.keys())[:3], wrong[:2])
PY
)" '8 [] []'
finish
