#!/usr/bin/env bash
# Steps of programs without an optimizer of torch.optim: an operator or a Python function as the marker. The program says
# itself at every collective to which of its steps, or tokens, it belongs.
# timeout: 600
# beside: does not wait busily
# long: each Python started for itself
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: step markers'

run_scene() { # FILE SCENE COUNT [NAME=VALUE ...]
	run_script "$1" 0 RANK=0 WORLD_SIZE=1 "${@:4}" tests/apps/py/markers.py "$2" "$3"
	echo "status $status" >>"$1"
}

scene() { # TEXT SCENE COUNT [NAME=VALUE ...]
	text=$1
	shift
	new_out
	run_scene "$tmp/plain" "$1" "$2"
	run_scene "$tmp/with" "$@" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
	is "$text: the same with and without the preload" "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
	is "$text: ends well, nothing is reported" "$(tail -1 "$tmp/with")$(libprobe_lines "$tmp/with.err")" 'status 0'
}

# Calls in another step than the program intended.
wrong() {
	rows "$out" '[(int(r["count"]) - 1, r["step"]) for r in R if r["io"] == "in" and r["dtype"] == "float64" and r["op"] == "all_reduce"
		and int(r["count"]) - 1 != int(r["step"])][:8]'
}

all_right() { # STEPS CALLS
	is "$text: every call is in its step" "$(wrong)" '[]'
	is "$text: as many steps and calls as the program counted" \
		"$(rows "$out" 'len({r["step"] for r in R}), len(calls([r for r in R if r["op"] == "all_reduce"])), M["rank0"]["steps"]["source"]')" \
		"($1, $2, 'marker')"
}

f=tests/apps/py/markers.py
scene 'own optimizer, python:markers.py:train_step' training 12 PROBE_STEP_MARKER=python:markers.py:train_step
all_right 12 61
scene 'own optimizer, path of the file' training 5 PROBE_STEP_MARKER=python:apps/py/markers.py:train_step
all_right 5 26
scene 'own optimizer, every second call' accumulation 10 PROBE_STEP_MARKER=python:markers.py:train_step PROBE_STEP_MARKER_COUNT=2
all_right 5 50
scene 'a function called from several places' from_outside 1 PROBE_STEP_MARKER='python:markers.py:from_outside.<locals>.call'
all_right 4 4
scene 'a recursive function' recursive 6 PROBE_STEP_MARKER=python:markers.py:deep
all_right 6 48
scene 'generation, a step a token' generation 20 PROBE_STEP_MARKER=python:markers.py:Model.forward
all_right 20 60
printf 'aten:\n  - aten::mm\n  - aten::addmm\nc10d:\n  - "c10d::*"\n' >"$tmp/ops.yaml"
scene 'generation, with operators listed' generation 8 PROBE_STEP_MARKER=python:markers.py:forward PROBE_WRAP_OPS="$tmp/ops.yaml"
is "$text: every collective is in its token" "$(wrong)" '[]'
is "$text: the operators that show the steps are not recorded" "$(rows "$out" 'sorted({r["op"].split(".")[0] for r in R if r["lib"] == "aten"} - {"mm", "addmm"})')" '[]'
scene 'generation, aten::argmax ends a step' generation_argmax 20 PROBE_STEP_MARKER=aten::argmax
all_right 21 60
is "$text: argmax itself is not recorded" "$(rows "$out" '{r["lib"] for r in R}')" "{'c10d'}"
printf 'aten:\n  - aten::argmax\n  - aten::cat\nc10d:\n  - "c10d::*"\n' >"$tmp/ops.yaml"
scene 'generation, argmax is the mark and is listed' generation_argmax 7 PROBE_STEP_MARKER=aten::argmax PROBE_WRAP_OPS="$tmp/ops.yaml"
all_right 8 21
is "$text: the mark belongs to the step that it ends" "$(rows "$out" '[int(r["step"]) for r in calls([r for r in R if r["op"] == "argmax"])]')" '[0, 1, 2, 3, 4, 5, 6]'

# None rather than a guess.
scene 'a loop in the function is one call of it' loop 9 PROBE_STEP_MARKER=python:markers.py:epoch
is "$text: one step" "$(wrong)$(rows "$out" '{r["step"] for r in R}')" "[]{'0'}"
scene 'generators are not told apart' generator 5 PROBE_STEP_MARKER=python:markers.py:numbers
is "$text: one step" "$(rows "$out" '{r["step"] for r in R}')" "{'0'}"
scene 'a function that leaves no sign' blind 5 PROBE_STEP_MARKER=python:markers.py:same
is "$text: one step" "$(rows "$out" '{r["step"] for r in R}, len(calls(R))')" "({'0'}, 5)"
like "$text: the report says so" "$("$probe" report "$out" 2>&1)" 'step marker python:markers.py:same was seen called at most once'

# Without a marker: steps are the period of the calls, and the function that is proposed as a marker gives the same steps. From the collectives
# alone, and from operators.
printf 'aten:\n  - "aten::*"\nc10d:\n  - "*"\n' >"$tmp/all.yaml"
period() {
	"$probe" report --json "$out" 2>&1 | python3 -c 'import json, sys
p = json.load(sys.stdin)["steps"]["period"] or {}
print(p.get("steps"), p.get("confidence"), p.get("extra_calls"), p.get("marker"))'
}
scene 'inference' inference 60
is "$text: iterations, by collectives" "$(period)" '60 1 0 c10d::ProcessGroupGloo::allreduce'
scene 'inference, operators' inference 40 PROBE_WRAP_OPS="$tmp/all.yaml" PROBE_JOURNAL_MIB=64
is "$text: iterations; collectives, which end on other threads, are in their places" "$(period)" '40 1 0 at::_ops::item::call'
said=$("$probe" report "$out" 2>&1)
like "$text: the report says how many" "$said" 'steps +0( to [0-9]+)? \(none was marked; 40 by the period of the calls\)'
like "$text: and how sure it is" "$said" ' repeats every [0-9]+ calls \(confidence 100 %, 40 repetitions'
marker=$(period | cut -d' ' -f4)
scene 'inference, the proposed marker' inference 40 PROBE_WRAP_OPS="$tmp/all.yaml" PROBE_JOURNAL_MIB=64 PROBE_STEP_MARKER="$marker"
is "$text: as many steps" "$(rows "$out" '[(m["steps"]["current"], m["steps"]["source"]) for m in M.values()]')" "[(40, 'marker')]"

# Markers that can never match.
new_out
run_scene "$tmp/with" loop 1 PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" PROBE_STEP_MARKER=python:train_step
like 'python: without a file is reported' "$(cat "$tmp/with.err")" 'PROBE_STEP_MARKER.*python:train_step.*language:file:function.*accepted: a function, aten::OPERATOR or python:FILE:FUNCTION'
printf 'stack: true\nstep_marker: "aten::"\n' >"$tmp/probe.yaml"
new_out
run_scene "$tmp/with" loop 1 PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" PROBE_CONFIG="$tmp/probe.yaml"
like 'aten:: without an operator is reported, with line and key' "$(cat "$tmp/with.err")" 'probe.yaml:2:14: step_marker: .*part of the name is missing'
like 'an operator that is never called is reported' "$(new_out; run_scene "$tmp/with" loop 3 PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" PROBE_STEP_MARKER=aten::argmin; "$probe" report "$out" 2>&1)" \
	'step marker aten::argmin was never called'
finish
