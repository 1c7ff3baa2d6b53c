#!/usr/bin/env bash
# A profiler's window, opened by a training configuration's profile keys in front of a DDP training on two ranks: operators and
# collectives in its steps on its ranks alone, the same numbers of the training; what `probe export` takes by itself.
# timeout: 300
# beside: does not wait busily
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: a window'
app=$PWD/tests/apps/py/manual.py

mkdir "$tmp/ckpt"
torchrun_plain 2 "$app" "$tmp/ckpt" "$tmp/alone"
window() { # LINES of the configuration: both ranks with it
	printf '%b\n' "seed: 0\nprofile: True\n$1" >"$tmp/config.yaml"
	shift
	new_out
	torchrun_with 2 PROBE_CONFIG="$tmp/config.yaml" "$@" "$app" "$tmp/ckpt" "$tmp/beside"
	same_output "$what"
	is "$what: losses and norms, bit for bit" "$(grep -c '^5 loss ' "$tmp/beside"; cmp "$tmp/alone" "$tmp/beside" 2>&1)" 1
}
new_out
printf 'seed: 0\nprofile: False\nuse_skip_data_by_global_norm: False\n' >"$tmp/config.yaml"
torchrun_with 2 PROBE_CONFIG="$tmp/config.yaml" "$app" "$tmp/ckpt"
# Those that are no times and no memory; a rate says that it could be computed.
numbers='sorted((r["folder"], r["step"], r["name"], "" if r["name"].endswith(("time", "second", "day", "npu", "throughput", "rss", "peak")) else r["value"]) for r in V)'
without=$(rows "$out" "$numbers")

steps='{f: sorted({r["step"] for r in R if r["folder"] == f}) for f in dirs}'
levels='any(r["stack_id"] not in ("", "0") for r in R), any(r["norm"] for r in R)'

operators='"\n".join(f"{k} {n}" for k, n in sorted(Counter((r["step"], r["api"]) for r in calls(R) if r["lib"] == "aten" and r["folder"] == "rank1" and r["step"] in "23").items()))'
printf 'seed: 0\nprofile: True\nprofile_start_step: 1\nprofile_level: 1\nprofile_stop_step: 100\n' >"$tmp/config.yaml"
new_out
torchrun_with 2 PROBE_CONFIG="$tmp/config.yaml" "$app" "$tmp/ckpt"
rows "$out" "$operators" >"$tmp/all"

what='one rank, level 1'
window 'profile_start_step: 3\nprofile_stop_step: 4\nprofile_level: 1\nprofile_rank_ids: [1]'
is "$what: calls of its steps alone, of its rank alone" "$(rows "$out" "$steps")" "{'rank0': [], 'rank1': ['2', '3']}"
is "$what: operators with shapes, and collectives" "$(rows "$out" 'sorted({r["lib"] for r in R}), any(r["op"].startswith("native_layer_norm") and r["shape"] for r in R), sorted({r["op"] for r in R if r["lib"] == "c10d"})')" \
	"(['aten', 'c10d'], True, ['all_reduce', 'barrier'])"
is "$what: both steps have the same calls" "$(rows "$out" 'Counter(r["op"] for r in calls(R) if r["step"] == "2") == Counter(r["op"] for r in calls(R) if r["step"] == "3")')" True
is "$what: operators as in a window that is always open" "$(rows "$out" "$operators" | diff "$tmp/all" - && grep -c . "$tmp/all")" "$(sort -u "$tmp/all" | grep -c .)"
is "$what: outside of it operators go past us" "$(rows "$out" '(lambda c: 0 < c["recorded"] < c["seen"] < 2.5 * c["recorded"])(M["rank1"]["calls"])')" True
is "$what: stacks, no values" "$(rows "$out" "$levels")" '(True, False)'
is "$what: numbers of all steps, as without a window" "$(rows "$out" "$numbers")" "$without"
is "$what: memory and loss of every step, on both ranks" "$(rows "$out" '{n: sorted({(r["folder"][4:], r["step"]) for r in V if r["name"] == n}) == [(r, s) for r in "01" for s in "012345"] for n in ("memory-rss", "memory-peak", "loss")}')" \
	"{'memory-rss': True, 'memory-peak': True, 'loss': True}"
unlike "$what: the report makes no fault of it" "$("$probe" report "$out" 2>&1)" 'mismatch|[0-9] skipped|never|missing|hang|one too many'
like "$what: the trace takes the window" "$("$probe" export --format trace "$out" 2>&1)" 'trace.json.gz: steps 2-3, rank 1,'
like "$what: but what is asked for" "$("$probe" export --format trace --step 3 -o "$tmp/t.json" "$out" 2>&1)" 't.json: step 3, rank 1,'
"$probe" export --format insight "$out" >"$tmp/said" 2>&1
like "$what: so does insight" "$(cat "$tmp/said")" 'steps 2-3, rank 1,'
is "$what: insight's folder" "$(cd "$out" && ls -d profile/*/* 2>&1)" 'profile/rank_1/rank1_ascend_pt'
memory() { # memory_record.csv against the scalars: as many rows, MiB that differ, cells that are known; are there blocks of operators
	python3 -c 'import csv, glob, sys
out, rank = sys.argv[1:]
rss = [float(r["value"]) for f in sorted(glob.glob(f"{out}/**/rank{rank}/scalars_*.csv", recursive=True)) for r in csv.DictReader(open(f))
       if r["name"] == "memory-rss" and r["step"] in ("2", "3")]
a, b = ([r for r in csv.DictReader(open(f"{out}/profile/rank_{rank}/rank{rank}_ascend_pt/ASCEND_PROFILER_OUTPUT/{n}_{m}.csv"))]
        for n, m in (("memory", "record"), ("operator", "memory")))
print(len(rss), len(a), [x for x, r in zip(rss, a) if abs(x / 2**20 - float(r["Total Reserved(MB)"])) > 1e-6],
      sorted({k for r in a for k, v in r.items() if v}), all(float(x["Timestamp(us)"]) < float(y["Timestamp(us)"]) for x, y in zip(a, a[1:])), any(r["Name"] for r in b))' "$out" 1
}
is "$what: insight's memory is the resident set, and blocks of operators" "$(memory)" \
	"2 2 [] ['Component', 'Device Type', 'Timestamp(us)', 'Total Reserved(MB)'] True True"
is "$what: blocks of its steps alone, of its rank alone" "$(cd "$out" && ls rank*/operator_memory_*.csv; cut -d, -f3 rank1/operator_memory_*.csv | sort -u | tr '\n' ' ')" \
	"rank1/operator_memory_0-99.csv
2 3 step "
called() { # FILE: do calls of that trace have stacks, statistics
	python3 -c 'import json, sys
a = [x.get("args", {}) for x in json.load(open(sys.argv[1]))["traceEvents"]]
print(any("called from" in x for x in a), any("out" in x for x in a))' "$1"
}
is "$what: stacks in the trace" "$(called "$tmp/t.json")" 'True False'
like "$what: in words" "$(PROBE_OUTPUT_DIR=$tmp/nowhere "$probe" config -c "$tmp/config.yaml" --explain 2>&1)" 'calls only in a window: steps \["2-3"\], ranks \[1\]'

what='level 0'
window 'profile_start_step: 2\nprofile_stop_step: 2\nprofile_memory: False'
is "$what: without profile_memory no blocks" "$(ls "$out"/rank*/operator_memory_*.csv 2>/dev/null)" ''
is "$what: one step of both ranks" "$(rows "$out" "$steps")" "{'rank0': ['1'], 'rank1': ['1']}"
contract "$what" "$out"
is "$what: neither stacks nor values" "$(rows "$out" "$levels")" '(False, False)'
"$probe" export --format trace -o "$tmp/t.json" "$out" >"$tmp/said" 2>&1
like "$what: the trace takes the window" "$(cat "$tmp/said")" 'step 1, ranks 0,1,'
is "$what: no stacks in the trace" "$(called "$tmp/t.json")" 'False False'

what='level 2'
window 'profile_start_step: 5\nprofiler_level: 2\nparallel_config:\n  pipeline_stage: 1\nprofile_pipeline: True' RANK_SIZE=2
is "$what: from its first step to the end, on the stage's first rank" "$(rows "$out" "$steps")" "{'rank0': ['4', '5', '6'], 'rank1': []}"
is "$what: stacks and values" "$(rows "$out" "$levels")" '(True, True)'
"$probe" export --format trace -o "$tmp/t.json" "$out" >"$tmp/said" 2>&1
is "$what: both in the trace" "$(called "$tmp/t.json")" 'True True'

# torch.profiler, in the same process, is the truth: each block of the step that it profiles.
what='blocks of memory'
new_out
run_script "$tmp/with" 0 RANK=0 WORLD_SIZE=1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_PRESET=ops PROBE_KINDS=operator_memory PROBE_SCALARS=true PROBE_PROFILE_STEP='[1]' \
	tests/apps/py/memory_blocks.py "$tmp/blocks"
told=$(python3 tests/e2e/memory_truth.py rows "$out/rank0" "$tmp/blocks")
ok "$what: address and size of each one that is given out or taken back ($told)" grep -qE '^([0-9]+) of \1, [1-9]' <<<"$told"
"$probe" export --format insight "$out" >"$tmp/said" 2>&1
like "$what: in operator_memory.csv, with the operator in progress, its times, nothing that is not known" \
	"$(python3 tests/e2e/memory_truth.py profile "$out/rank0" "$tmp/blocks")" '[0-9]+ blocks [1-9] of 10 with a name; empty: 9'
finish
