#!/usr/bin/env bash
# What a run began with: `probe run --seed --deterministic` and whether it took effect, packages and environment in meta.json as Python
# itself says them, and what `probe compare --config-check` makes of two runs. Besides: cc_log_only.
# timeout: 900
# beside: does not wait busily
# long: ways in which a seed takes no effect, and two runs alike
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'what a run began with'
app=tests/apps/py/settings.py
export GLOO_SOCKET_IFNAME=lo OMP_NUM_THREADS=1

run_probe() { # FILE, options of probe run -- arguments of settings.py
	local file=$1 options=()
	shift
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	RANK=0 WORLD_SIZE=1 "$probe" run -o "$out" "${options[@]}" "$python" ${interpreter:-} $app "$@" >"$file" 2>"$file.err" </dev/null
	status=$?
}

meta() { # EXPRESSION over m, the meta.json of rank 0
	"$python" -c 'import json, sys
m = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$out/rank0/meta.json" "$1" 2>&1
}

printf 'c10d:\n  - "c10d::*"\naten:\n  - "aten::bernoulli_"\n  - "aten::native_dropout"\n' >"$tmp/list.yaml"
RANK=0 WORLD_SIZE=1 PYTHONHASHSEED=7 MKL_CBWR=AUTO "$python" $app --manual 11 >"$tmp/plain"
new_out
export PROBE_WRAP_OPS="$tmp/list.yaml"
run_probe "$tmp/with" --seed 7 --deterministic -- --manual 11
is 'the same with and without' "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
silent 'nothing is reported' "$tmp/with.err"
is 'the hash seed took effect: Python says so' "$(meta 'm["reproducible"]["PYTHONHASHSEED"]')" "{'asked': '7', 'took_effect': True}"
is 'what was asked for is there' "$(meta 'm["reproducible"]["seed"], m["reproducible"]["deterministic"], m["environment"]["CUBLAS_WORKSPACE_CONFIG"]')" "(7, True, ':4096:8')"
is "PyTorch's own seed" "$(meta 'm["seeds"]["torch_initial_seed"], m["seeds"]["torch_deterministic_algorithms"]')" '(11, False)'
is 'packages are those that Python finds' "$("$python" - "$out/rank0/meta.json" <<-'PY'
	import glob, importlib.metadata as im, json, os, sys, torch
	have = json.load(open(sys.argv[1]))["packages"]
	site = os.path.dirname(os.path.dirname(torch.__file__))
	want = {}
	for d in im.distributions(path=[site]):
	    folder = os.path.basename(str(d._path))
	    if folder.endswith(".dist-info"):
	        want[folder[:-10].rsplit("-", 1)[0]] = d.version
	print({k: (have.get(k), v) for k, v in want.items() if have.get(k) != v} or bool(want))
	PY
)" True
first=$out

if [ -n "${LONG:-}" ]; then
	new_out
	PYTHONHASHSEED=3 run_probe "$tmp/with" --seed 7 -- --manual 11
	like 'what the user has set stays, and it is reported' "$(cat "$tmp/with.err")" 'PYTHONHASHSEED is already set to 3 and is not changed'
	is '... and meta.json says it' "$(meta 'm["reproducible"]["PYTHONHASHSEED"]')" "{'asked': '7', 'took_effect': False, 'why': 'another value was set'}"
	new_out
	interpreter=-E run_probe "$tmp/with" --seed 7 -- --manual 11 --deterministic
	is 'a Python that ignores the environment' "$(meta 'm["reproducible"]["PYTHONHASHSEED"]["why"]')" 'this Python was told to ignore the environment'
	is 'a program that asked PyTorch to be deterministic' "$(meta 'm["seeds"]["torch_deterministic_algorithms"]')" True
fi
for wrong in x -1 4294967296 1.5; do
	"$probe" run --seed $wrong true >"$tmp/said" 2>&1
	is "--seed $wrong is refused" "$? $(cat "$tmp/said")" "2 probe: run: --seed $wrong: accepted: an integer from 0 to 4294967295"
done
like '--print shows the variables' "$("$probe" run --seed 5 --deterministic -n true)" 'PROBE_SEED=5 PROBE_DETERMINISTIC=true PYTHONHASHSEED=5 .*HCCL_DETERMINISTIC=true'

# Two runs.
if [ -n "${LONG:-}" ]; then
	new_out
	run_probe "$tmp/with" --seed 7 --deterministic -- --manual 11
else
	out=$tmp/again
	cp -r "$first" "$out"
fi
"$probe" compare --config-check "$first" "$out" >"$tmp/said" 2>&1
is 'two runs alike: nothing differs' "$? $(grep -c '[1-9][0-9]* differ' "$tmp/said")" '0 0'
like '... and what was compared is reported' "$(cat "$tmp/said")" 'environment: [1-9].*packages: [1-9].*arguments of the program: [1-9].*seeds: [1-9].*first inputs: [1-9].*random numbers: [1-9]'
new_out
NCCL_ALGO=Ring run_probe "$tmp/with" --seed 8 --deterministic -- --manual 12 --lr 0.2 --steps 5
"$probe" compare --config-check "$first" "$out" >"$tmp/said" 2>&1
is 'two runs that differ: status' $? 1
said=$(cat "$tmp/said")
like 'the environment' "$said" 'NCCL_ALGO: \(none\), in B Ring'
like 'an argument that both have' "$said" '--manual: 11, in B 12'
like 'arguments that one has' "$said" '--lr: \(none\), in B 0.2'
like 'seeds' "$said" 'torch_initial_seed: 11, in B 12'
like 'the hash seed' "$said" 'PYTHONHASHSEED.asked: 7, in B 8'
like 'random numbers, with their line' "$said" 'bernoulli_ at .*settings.py:[0-9]+.*: 4 calls, in B 5 calls'
"$probe" compare --config-check --json "$first" "$out" >"$tmp/said.json"
is 'the same as JSON' "$("$python" -c 'import json, sys
r = json.load(open(sys.argv[1]))["ranks"][0]
print(sorted(d["name"] for d in r["arguments of the program"]["differ"]))' "$tmp/said.json")" "['--lr', '--manual', '--steps']"

# The places that collectives are called from.
printf '{"cc_distribution": {"enable": true, "cc_log_only": true}, "ops": ["norm"], "step_count_per_record": 9}' >"$tmp/log.json"
new_out
unset PROBE_WRAP_OPS
RANK=0 WORLD_SIZE=1 PYTHONHASHSEED=7 MKL_CBWR=AUTO LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CONFIG="$tmp/log.json" \
	MONITOR_OUTPUT_DIR="$tmp/mon" "$python" $app --manual 11 >"$tmp/with" 2>"$tmp/with.err" </dev/null
is 'cc_log_only: the job goes on, to the same results' "$? $(cat "$tmp/with")" "0 $(cat "$tmp/plain")"
like '... and one line says where the log is' "$(libprobe_lines "$tmp/with.err")" '^libprobe: rank 0: cc_log_only: where collectives are called from is in .*/cc_log.json; the job goes on *$'
is 'cc_log_only: lines, types and groups of the first two steps, each once' "$("$python" - "$tmp"/mon/*-rank0-*/cc_log.json $app <<-'PY'
	import json, sys
	log = json.load(open(sys.argv[1]))
	lines = [t for t in open(sys.argv[2])]
	number = lambda mark: next(i for i, t in enumerate(lines, 1) if mark in t)
	have = sorted((op, next(f.split("[")[1].split("]")[0] for f in e["stack"] if "settings.py[" in f), e["dtype"], e["ranks"], e["size"])
	              for op, all_ in log.items() for e in all_)
	want = sorted([("all_reduce", str(number("# gradients")), "float32", "0", 1), ("all_reduce", str(number("# loss")), "float64", "0", 1)])
	print(have == want or (have, want))
	PY
)" True
is 'cc_log_only: no files of communication beside it' "$(cd "$tmp"/mon/*-rank0-* && ls)" cc_log.json
finish
