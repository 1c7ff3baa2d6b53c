#!/usr/bin/env bash
# PROBE_CONFIG is a configuration of msprobe's monitor: its folders, with what the CSV files of the same run have, and sums over
# the calls (monitor_truth.py); the same afterwards by `probe export`; the second version's layout; results as without the preload.
# timeout: 600
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'format monitor'
app=tests/apps/py/train_state.py

cat >"$tmp/monitor.json" <<'JSON'
{
    "targets": {},              // all
    "wg_distribution": true, "mv_distribution": true, "param_distribution": true, "xy_distribution": true,
    "mg_direction": true, "monitor_mbs_grad": true,
    "cc_distribution": {"enable": true, "cc_codeline": [], "cc_pre_hook": true},
    "stack_info": true,
    "ops": ["min", "max", "mean", "norm", "zeros", "nans"],
    "ndigits": 6, "step_count_per_record": 3, "format": "csv",
}
JSON
new_out
torchrun_plain 2 $app --steps 4 --accumulate 2
torchrun_with 2 PROBE_CONFIG="$tmp/monitor.json" PROBE_FORMAT=csv,monitor MONITOR_OUTPUT_DIR="$tmp/mon" $app --steps 4 --accumulate 2
same_output 'a configuration of msprobe'
for r in 0 1; do
	folder=$(echo "$tmp"/mon/*-rank$r-*)
	like "rank $r: the folder's name" "${folder##*/}" "^[A-Z][a-z][a-z][0-9]{2}_[0-9]{2}-[0-9]{2}-[0-9]{2}-rank$r-[0-9a-f]{8}"
	is "rank $r: its files" "$(ls "$folder" | grep -c '^\(actv\|actv_grad\|exp_avg\|exp_avg_sq\|grad_reduced\|grad_unreduced\|param_origin\|param_updated\|other\)_\(0-2\|3-5\).csv$')" 18
	"$python" tests/e2e/monitor_truth.py "$out/rank$r" "$folder" $r 6 >"$tmp/said" 2>&1
	is "rank $r: values ($(tail -1 "$tmp/said"))" "$? $(cat "$tmp/said" | grep -v ^compared)" '0 '
done
is 'stacks in its form' "$("$python" -c 'import csv, sys
r = list(csv.DictReader(open(sys.argv[1])))
print(bool(r) and all(list(x) == ["module_name", "stack_info"] and x["stack_info"].startswith("File ") and ", line " in x["stack_info"] for x in r))' "$tmp"/mon/*-rank0-*/stack_info.csv)" True
# A row for each module with its line in the program, in the first monitored step and once; Net.forward calls them, the loop calls Net.
is 'each module has its stack' "$("$python" -c 'import csv, sys
lines = open(sys.argv[2]).read().splitlines()
rows = {}
for x in csv.DictReader(open(sys.argv[1])):
    rows.setdefault(x["module_name"], []).append(x["stack_info"])
for name, text in (("0:layers.0", "self.layers[0](x)"), ("0:layers.1", "self.layers[1](x)"), ("0:norm", "self.norm("), ("0:frozen", "self.frozen("), ("0:head", "self.head("), ("0:", "model(")):
    first = rows.get(name, ["File ?, line 0, in ?, "])[0].split(", \n")
    where = [f for f in first if sys.argv[2] in f]
    line = int(where[0].split(", line ")[1].split(",")[0]) if where else 0
    print(len(rows.get(name, [])), name, bool(line) and text in lines[line - 1])' "$tmp"/mon/*-rank0-*/stack_info.csv $app)" "$(printf '1 0:%s True\n' layers.0 layers.1 norm frozen head '')"
is 'mg_direction is in other' "$(awk -F, '$2 == "layers.0.weight"' "$tmp"/mon/*-rank0-*/other_0-2.csv | wc -l)" 3

# The same, afterwards.
cp -r "$out" "$tmp/copy"
# An asynchronous call ends late on a busy machine: its rows come after rows of the next step. Here always.
python3 - "$tmp"/copy/rank*/calls_*.csv <<'PY'
import csv, sys
for path in sys.argv[1:]:
    head, *rows = open(path).read().splitlines(True)
    at = {name: i for i, name in enumerate(next(csv.reader([head])))}
    of = [next(csv.reader([r])) for r in rows]
    first = [r[at["seq"]] for r in of if r[at["step"]] == "0" and r[at["op"]] == "all_reduce" and not r[at["parent"]]]
    late = [i for i, r in enumerate(of) if first and r[at["seq"]] == first[-1]]
    next_step = [i for i, r in enumerate(of) if r[at["step"]] == "1"]
    if late and next_step:
        order = [i for i in range(len(rows)) if i not in late]
        order[order.index(next_step[-1]) + 1:order.index(next_step[-1]) + 1] = late
        rows = [rows[i] for i in order]
    open(path, "w").write(head + "".join(rows))
PY
PROBE_CONFIG= "$probe" export --format monitor -o "$tmp/later" "$tmp/copy" >"$tmp/said" 2>&1
is 'export: status' "$? $(cat "$tmp/said")" "0 $tmp/later: 2 ranks"
for r in 0 1; do
	# The CSV files have nine digits, of which the seventh decides how the sixth decimal is rounded.
	is "rank $r: the same files" "$("$python" tests/e2e/same_csv.py "$tmp"/mon/*-rank$r-* "$tmp"/later/*-rank$r-* 1e-6)" ''
done
"$probe" export --format monitor -o "$tmp/later" "$tmp/copy" >"$tmp/said" 2>&1
is 'what is there is not written over' "$?" 2
like '... and is reported' "$(cat "$tmp/said")" 'exists already'

# The second version.
cat >"$tmp/v2.json" <<'JSON'
{"framework": "pytorch", "output_dir": "V2OUT", "start_step": 1, "stop_step": 4, "step_count_per_record": 2,
 "monitors": {"module": {"enabled": true}, "weight_grad": {"enabled": true}, "optimizer": {"enabled": true},
  "param": {"enabled": true}, "cc": {"enabled": true}}}
JSON
sed -i "s|V2OUT|$tmp/v2|" "$tmp/v2.json"
for run in 1 2; do
	new_out
	torchrun_with 2 PROBE_CONFIG="$tmp/v2.json" $app --steps 5
done
is 'v2: its files' "$(cd "$tmp/v2/rank_0" && echo *)" 'cc_step1-2.csv cc_step3-4.csv module_step1-2.csv module_step3-4.csv optimizer_step1-2.csv optimizer_step3-4.csv param_step1-2.csv param_step3-4.csv weight_grad_step1-2.csv weight_grad_step3-4.csv'
is 'v2: header' "$(head -1 "$tmp/v2/rank_0/optimizer_step1-2.csv")" 'vpp_stage,step,module_name,scope,min,max,mean,norm,nans'
is 'v2: scopes' "$(cut -d, -f4 "$tmp"/v2/rank_1/{param,optimizer}_step*.csv | sort -u | tr '\n' ' ')" 'exp_avg exp_avg_sq param_origin param_updated scope '
is 'v2: a second run writes over nothing' "$(ls "$tmp/v2" | tr '\n' ' ')" 'rank_0 rank_0.1 rank_1 rank_1.1 '

# A rank that is known when there are files already: their folder is named by it then, and another run's of that name is kept.
sed "s|\"output_dir\": \"[^\"]*\"|\"output_dir\": \"$tmp/late\"|; s|\"start_step\": 1, \"stop_step\": 4, ||" "$tmp/v2.json" >"$tmp/late.json"
# Both ranks of late_rank.py, with the configuration of that name.
run_late() { # NAME [STEPS]
	local r port late=()
	port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	new_out
	for r in 0 1; do
		env OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$tmp/$1.json" timeout 100 \
			"$python" tests/apps/py/late_rank.py $r "$port" "${@:2}" >"$tmp/late.$r" 2>"$tmp/late.$r.err" </dev/null &
		late[r]=$!
	done
	wait "${late[@]}"
}
mkdir -p "$tmp/late/rank_1"
echo other >"$tmp/late/rank_1/param_step0-1.csv"
run_late late
is 'v2: a late rank: folders, and what another run left' "$(ls "$tmp/late" | tr '\n' ' ')$(cat "$tmp"/late/rank_1.1/*)" 'rank_0 rank_1 rank_1.1 other'
for r in 0 1; do
	is "v2: a late rank: all steps of rank $r, its own numbers" "$(awk -F, '/,weight,param_updated/ { print $2 }' "$tmp"/late/rank_$r/param_step*.csv | tr '\n' ' ')$("$python" -c '
import csv, glob, sys
rows = [r for f in sorted(glob.glob(sys.argv[1])) for r in csv.DictReader(open(f)) if r["module_name"] == "weight" and r["scope"] == "param_updated"]
want = float(open(sys.argv[2]).read().split()[1])
print(abs(float(rows[-1]["mean"]) * 8 - want) < 1e-5 or (rows[-1], want))' "$tmp/late/rank_$r/param_step*.csv" "$tmp/late.$r")" '0 1 2 3 4 5 True'
done

# No step ends after the moment in which the rank is known: as on a busy machine, where one pass writes all there is meanwhile.
sed "s|$tmp/late|$tmp/last|" "$tmp/late.json" >"$tmp/last.json"
run_late last 0
is 'v2: a rank that is known after the last step' "$(ls "$tmp/last" | tr '\n' ' ')$(for r in 0 1; do
	awk -F, '/,weight,param_updated/ { print $2 }' "$tmp"/last/rank_$r/param_step*.csv | tr '\n' ' '
done)" 'rank_0 rank_1 0 1 2 0 1 2 '

# By ctypes, and no files.
new_out
torchrun_with 1 PROBE_FORMAT=api PROBE_KINDS=param_origin,grad_reduced PROBE_SCALARS=true PROBE_NAMES=true tests/apps/py/stats_api.py
is 'format api: what the training asks for' "$(cat "$tmp/with")" "$(printf '%s\n' '0.bias True' '0.weight True' '2.bias True' '2.weight True' "kinds ['grad_reduced', 'param_origin', 'scalars'] True" \
	'loss True' 'what is not there None None' | sort)"
is 'format api: no files but meta.json' "$(cd "$out/rank0" && echo *)" 'meta.json'

# The manual's one-line file that prints the structure: nothing else is asked for.
echo '{"print_struct": true}' >"$tmp/struct.json"
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/struct.json" MONITOR_OUTPUT_DIR="$tmp/struct" $app --steps 2
is 'print_struct alone: modules with their parameters, of each rank' "$("$python" -c '
import glob, json, sys
for f in sorted(glob.glob(sys.argv[1] + "/rank*/module_struct.json")):
    m = json.load(open(f))
    print(sorted(k for k in m if m[k]["parameters"]), m["0:layers.0"]["parameters"]["weight"]["shape"])' "$out")" \
	"$(for r in 0 1; do echo "['0:frozen', '0:head', '0:layers.0', '0:layers.1', '0:norm'] [32, 4]"; done)"

# Alerts with micro-batches: each has a series of its own, so that the first step has nothing to be compared with. More than 9 decimals.
cat >"$tmp/alert.json" <<'JSON'
{"targets": {"norm": {}, "head": {}}, "wg_distribution": true, "monitor_mbs_grad": true, "ops": ["norm"], "ndigits": 12, "format": "csv",
 "alert": {"rules": [{"rule_name": "AnomalyTurbulence", "args": {"threshold": 0.0}}]}}
JSON
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/alert.json" MONITOR_OUTPUT_DIR="$tmp/alert" $app --steps 4 --accumulate 2
is 'alerts: none in the first step, others later' "$("$python" -c '
import json, sys
s = {int(json.loads(l)["step"]) for l in open(sys.argv[1])}
print(0 in s, len(s) > 1)' "$out/rank0/alerts.jsonl")" 'False True'
is 'ndigits: 12 decimals, as round() has them, none more' "$("$python" -c '
import csv, glob, sys
v = [r["norm"] for f in glob.glob(sys.argv[1] + "/*-rank0-*/grad_*.csv") for r in csv.DictReader(open(f))]
print(len(v) > 10, all(repr(round(float(x), 12)) == x for x in v), max(len(x.split(".")[-1]) for x in v if "e" not in x))' "$tmp/alert")" 'True True 12'

# format tensorboard: below MONITOR_OUTPUT_DIR, of each rank.
echo '{"targets": {}, "param_distribution": true, "ops": ["norm"], "format": "tensorboard"}' >"$tmp/board.json"
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/board.json" MONITOR_OUTPUT_DIR="$tmp/board" $app --steps 2
is 'format tensorboard: place, ranks, tags' "$(for r in 0 1; do python3 tests/e2e/tfevents.py "$tmp/board/rank_$r" "sorted(t for t in S if 'head.bias' in t)"; done)" \
	"$(for r in 0 1; do echo "['0:head.bias/rank$r/param_origin_norm', '0:head.bias/rank$r/param_updated_norm']"; done)"

finish
