#!/usr/bin/env bash
# A training that goes on from a checkpoint: how many steps its Adam had done is seen at its first step here, and the
# report proposes PROBE_START_ITERATION. The program says what its optimizer's state holds.
# timeout: 420
# beside: does not wait busily
# long: each Python started for itself
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: going on from a checkpoint'

resume() { # FILE HOW [NAME=VALUE ...]
	run_script "$1" 0 "${@:3}" tests/apps/py/resume.py "$2" "$tmp/saved"
	echo "status $status" >>"$1"
}

scene() { # TEXT HOW [NAME=VALUE ...]
	text=$1
	shift
	new_out
	resume "$tmp/plain" "$1"
	resume "$tmp/with" "$@" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib"
	is "$text: the same with and without the preload" "$(cat "$tmp/with")" "$(cat "$tmp/plain")"
	is "$text: ends well, nothing is reported" "$(tail -1 "$tmp/with")$(libprobe_lines "$tmp/with.err")" 'status 0'
	start=$(sed -n 's/^start //p' "$tmp/with")
	said=$("$probe" report "$out" 2>&1)
}

known() {
	rows "$out" 'M["rank0"].get("optimizer_steps_before")'
}

resume "$tmp/first" save
is 'a checkpoint is written' "$(tail -1 "$tmp/first")" 'status 0'
for how in single foreach fused; do
	scene "AdamW, $how" $how
	is "$text: the state holds 500 steps, and that is reported" "$start $(known)" '500 500'
	like "$text: the report proposes it" "$said" 'steps the optimizer had done 500 steps before the first one seen here.*PROBE_START_ITERATION=500'
	is "$text: steps are numbered from 0" "$(rows "$out" 'sorted({int(r["step"]) for r in R}) == list(range(10))')" True
done
scene 'AdamW, numbered on' single PROBE_START_ITERATION=500
is "$text: steps are those of the training" "$(rows "$out" 'sorted({int(r["step"]) for r in R}) == list(range(500, 510))')" True
unlike "$text: nothing is proposed" "$said" PROBE_START_ITERATION=
printf 'aten:\n  - aten::add_\n  - aten::_foreach_add_\nc10d:\n  - "c10d::*"\n' >"$tmp/ops.yaml"
scene 'AdamW, with these operators recorded' single PROBE_WRAP_OPS="$tmp/ops.yaml"
is "$text: the same is reported" "$(known)" 500
is "$text: they are recorded as usual" "$(rows "$out" 'len(calls([r for r in R if r["op"].startswith("add_")])) > 10')" True
scene 'from the beginning' none
is "$text: nothing is reported" "$start $(known)" '0 None'
unlike "$text: nothing is proposed" "$said" PROBE_START_ITERATION=
scene 'SGD counts no steps' sgd
is "$text: nothing is reported" "$(known)" None
finish
