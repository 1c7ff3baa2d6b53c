#!/usr/bin/env bash
# Configuration files of msprobe that are edited while a DDP training runs on two ranks: its monitor's with DYNAMIC_MONITOR=True (off at the
# start, on, other keys, at the limit off by itself, on again), its dump's with dump_enable and other keys. The six scenes of its page
# one by one: test_switch_scenes.sh.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: switching'
app=tests/apps/py/switched.py
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
config=$tmp/config.json

touch "$tmp/at_once"
torchrun_plain 2 $app "$tmp/at_once"

edit() { # TEXT: writes the file again, by rename
	printf '%s\n' "$1" >"$config.new"
	mv "$config.new" "$config"
}
launch() { # NAME=VALUE ...: two ranks, 20 ms a step
	new_out
	stop=$tmp/stop.$outs
	vars=(LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$config" "$@" timeout -k 5 240 "$python")
	ranks_by_hand 2 $app "$stop" 20 >"$tmp/with.raw" 2>"$tmp/with.err" </dev/null &
	launched=$!
}
end_run() {
	touch "$stop"
	wait $launched
	status=$?
	sort "$tmp/with.raw" >"$tmp/with"
	echo $status >"$tmp/with.status"
	same_output "$1"
}
step_of() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["steps"]["current"])' "$out/rank$1/meta.json" 2>/dev/null || echo 0; }
passes() { [ "$(step_of 0)" -ge "$1" ] && [ "$(step_of 1)" -ge "$1" ]; }
later() { # waits until both ranks are N steps further
	local at
	at=$(step_of 0)
	wait_until 90 passes $((at + $1))
}
says_off() { grep -q '"dynamic_on": false' "$config"; }

# Steps of a kind on a rank as ranges, and the names in it: from the monitor's folders.
monitored() { # RANK KIND [COLUMN]
	python3 - "$tmp/mon" "$1" "$2" "${3:-step}" <<'PY'
import csv, glob, sys
top, rank, kind, column = sys.argv[1:]
rows = [r for f in glob.glob(f"{top}/*-rank{rank}-*/{kind}_*.csv") for r in csv.DictReader(open(f))]
if column == "step":
    s = sorted({int(r["step"]) for r in rows})
    print(*("%d-%d" % (a, b) for a, b in zip([x for x in s if x - 1 not in s], [x for x in s if x + 1 not in s])))
else:
    print(*sorted({r[column] for r in rows}))
PY
}
spans() { # of ranges: how many steps each has
	python3 -c 'import sys; print(*(int(b) - int(a) + 1 for a, b in (r.split("-") for r in sys.argv[1:])))' $1
}

base='"ops": ["norm"], "step_count_per_record": 1000, "wg_distribution": true'
edit "{\"dynamic_on\": false, \"collect_times\": 6, $base}"
launch DYNAMIC_MONITOR=True MONITOR_OUTPUT_DIR="$tmp/mon"
wait_until 90 passes 20
is 'monitor: off at first' "$(monitored 0 grad_reduced)$(monitored 1 grad_reduced)" ''
edit "{\"dynamic_on\": true, \"collect_times\": 6, \"targets\": {\"2\": {}}, $base}"
wait_until 90 says_off
later 60
for r in 0 1; do
	first=$(monitored $r grad_reduced)
	is "rank $r: on by an edit, collect_times steps in a row" "$(spans "$first")" 6
	is "rank $r: of the targets that came with it" "$(monitored $r grad_reduced name)" '2.bias 2.weight'
done
# Again, other kinds and other targets.
edit '{"dynamic_on": true, "collect_times": 4, "ops": ["norm"], "step_count_per_record": 1000, "mv_distribution": true, "cc_distribution": {"enable": true}}'
wait_until 90 says_off
later 60
end_run 'a monitor configuration that is switched'
for r in 0 1; do
	is "rank $r: the kind that was on is off, as it was" "$(spans "$(monitored $r grad_reduced)")" 6
	is "rank $r: another kind is written for all parameters, for the same number of steps" "$(spans "$(monitored $r exp_avg)") $(monitored $r exp_avg name)" '4 0.bias 0.weight 2.bias 2.weight'
	like "rank $r: communication came on" "$(monitored $r other name)" "all_reduce/rank$r/post_0"
	ok "rank $r: after the first time" test "$(monitored $r exp_avg | cut -d- -f1)" -gt "$(monitored $r grad_reduced | cut -d- -f2)"
done
is 'nothing was refused, nothing lost' "$(libprobe_lines "$tmp/with.err" | grep -v note)" ''

# A dump.
dumped() { # RANK: steps that have a dump, and what the last one has
	python3 - "$tmp/dump" "$1" <<'PY'
import glob, json, sys
at = {int(f.split("/step")[-1].split("/")[0]): json.load(open(f))["data"] for f in glob.glob(f"{sys.argv[1]}/step*/rank{sys.argv[2]}/dump.json")}
at = {s: d for s, d in at.items() if d}
print(len(at) > 0, sorted({".".join(n.split(".")[:2]) for n in at[max(at)]} if at else []), sorted({".".join(n.split(".")[:2]) for n in at[min(at)]} if at else []))
PY
}
part='"task": "statistics", "level": "L1", "dump_path": "'$tmp/dump'"'
edit "{$part, \"dump_enable\": false, \"statistics\": {\"list\": [\"linear\"], \"data_mode\": [\"forward\"]}}"
launch
wait_until 90 passes 20
is 'dump: off at first' "$(dumped 0)" 'False [] []'
edit "{$part, \"dump_enable\": true, \"statistics\": {\"list\": [\"linear\"], \"data_mode\": [\"forward\"]}}"
wait_until 90 sh -c "ls '$tmp'/dump/step*/rank0/dump.json '$tmp'/dump/step*/rank1/dump.json"
later 10
edit "{$part, \"dump_enable\": true, \"statistics\": {\"list\": [\"relu\", \"Distributed\"], \"data_mode\": [\"forward\"]}}"
later 80
edit "{$part, \"dump_enable\": false}"
later 80
n=$(ls "$tmp/dump" | wc -l)
later 20
is 'dump: off again' "$(ls "$tmp/dump" | wc -l)" "$n"
end_run 'a dump configuration that is switched'
for r in 0 1; do
	is "rank $r: on, and what its list chose; at last what another list did" "$(dumped $r)" \
		"True ['Distributed.all_reduce', 'Distributed.cxx_all_reduce', 'Functional.relu'] ['Functional.linear']"
done
finish
