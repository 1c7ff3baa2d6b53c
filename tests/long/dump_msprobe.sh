#!/usr/bin/env bash
# The same DDP script under msprobe 26.2.0 and under libprobe, with the same configuration file, levels L0 and mix: msprobe's own `compare`
# pairs the records, `graph_visualize` has a node for each, `overflow_check` names the rank and operator that made the first NaN,
# `data2db` has a row for each that its own has, and for each of the monitor's folders, and `merge_result` takes the tables; and
# tests/e2e/modules.expected is what msprobe writes (RECORD=1 writes it again). In a virtual environment of its own in $B/long, or
# with PROBE_TEST_MSPROBE, a Python that has mindstudio-probe 26.2.0 and torch.
# timeout: 2400
. "$(dirname "$0")/../e2e/lib.sh"
. tests/e2e/msprobe.sh
msprobe_python
. tests/e2e/torch.sh
test_python=$python REAL_COMPILER=1
torch_python msprobe
app=tests/apps/py/moduled.py

run_both() { # LEVEL
	local who
	for who in peer ours; do
		mkdir -p "$tmp/$1.$who"
		echo "{\"task\": \"statistics\", \"dump_path\": \"$tmp/$1.$who\", \"level\": \"$1\", \"risk_level\": \"ALL\", \"statistics\": {}}" \
			>"$tmp/$1.$who.json"
	done
	TORCH_LIMIT=600 torchrun_plain 2 $app msprobe "$tmp/$1.peer.json"
	new_out
	TORCH_LIMIT=600 torchrun_with 2 PROBE_CONFIG="$tmp/$1.ours.json" $app
	dumped "$1" "$tmp/$1.ours/step1"
}
# Without a dump `compare` only says that its path does not exist. libprobe says why there is none, as where the library lies in a folder
# that has no ../configs with the list of preset ops.
dumped() { # WHAT FOLDER
	ok "$1: libprobe wrote a dump $([ -d "$2" ] || tail -2 "$tmp/with.err")" test -d "$2"
}

run_both L0
run_both mix
# At level mix it would name the module that contains the operator.
mkdir -p "$tmp/L1.nan"
sed "s#$tmp/mix.ours#$tmp/L1.nan#; s#\"mix\"#\"L1\"#" "$tmp/mix.ours.json" >"$tmp/L1.nan.json"
new_out
TORCH_LIMIT=600 torchrun_with 2 PROBE_CONFIG="$tmp/L1.nan.json" $app nan
printf '{"targets": {}, "ops": ["norm", "min", "max", "mean"], "xy_distribution": true, "all_xy": true, "wg_distribution": true, "mv_distribution": true, %s}' \
	'"param_distribution": true, "cc_distribution": {"enable": true}, "format": "csv", "step_count_per_record": 2' >"$tmp/mon.json"
new_out
TORCH_LIMIT=600 torchrun_with 2 MONITOR_OUTPUT_DIR="$tmp/mon" PROBE_CONFIG="$tmp/mon.json" $app
if [ -n "${RECORD:-}" ]; then
	"$python" tests/e2e/module_truth.py record "$tmp/L0.peer" >tests/e2e/modules.expected
fi
ok 'modules.expected is what msprobe writes' diff <("$python" tests/e2e/module_truth.py record "$tmp/L0.peer") tests/e2e/modules.expected
# The guide's own program and configuration: with the tool's lines in it, and without them under libprobe.
for who in peer ours; do
	echo "{\"task\": \"statistics\", \"dump_path\": \"$tmp/guide.$who\", \"rank\": [], \"step\": [], \"level\": \"L1\", \"seed\": 1234, \"is_deterministic\": false, \"statistics\": {\"scope\": [], \"list\": [], \"data_mode\": [\"all\"], \"summary_mode\": \"statistics\"}}" \
		>"$tmp/guide.$who.json"
done
sed "s#^torch.manual_seed(1234)#from msprobe.pytorch import PrecisionDebugger, seed_all\nseed_all()\ndebugger = PrecisionDebugger(config_path='$tmp/guide.peer.json')#
	s/^    x = torch.randn/    debugger.start(model=module)\n&/; s/^    loss.backward()/&\n    debugger.stop()/" tests/apps/py/guide.py >"$tmp/guide.py"
"$python" "$tmp/guide.py" >"$tmp/guide.out" 2>&1 || fail "the guide's program with msprobe" "$(tail -5 "$tmp/guide.out")"
new_out
run_script "$tmp/with" 0 LD_PRELOAD="$lib" PROBE_CONFIG="$tmp/guide.ours.json" tests/apps/py/guide.py
dumped "the guide's program" "$tmp/guide.ours/step0"
"$python" tests/long/dump_msprobe.py "$tmp" >"$tmp/told" 2>"$tmp/told.err" || fail 'the tools of msprobe ran' "$(tail -5 "$tmp/told.err")"
while read -r line; do
	case $line in
	ok*) pass "${line#ok - }" ;;
	not*) fail "${line#not ok - }" ;;
	esac
done <"$tmp/told"
finish
