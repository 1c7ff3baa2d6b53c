#!/usr/bin/env bash
# Messages of pipelines: probe names tells stage, direction and micro-batch of each as the program itself does, by the order of
# messages (PyTorch's schedule) and by the functions on the stack, where the order would tell something else.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'PyTorch: pipelines'
app=tests/apps/py/pipelined.py


# RANKS MODE
run_pipeline() {
	torchrun_plain "$1" $app "$2"
	is "$2: ends well without us" "$status" 0
	new_out
	torchrun_with "$1" $app "$2"
	same_output "$2"
	"$probe" names --messages --step 1-2 --json "$out" >"$tmp/$2.json"
}

run_pipeline 3 schedule
is 'schedule: each message of steps 1 and 2 as its stage named it' \
	"$(python3 tests/e2e/pipeline_truth.py "$tmp/with" "$tmp/schedule.json" 1 2)" 'same 64'
said=$("$probe" names --groups "$out")
like 'schedule: the communicator is a pipeline' "$said" 'pipeline +0\.[0-9]+ +0-2 .*it carries messages between ranks'
like 'schedule: its stages' "$said" '1 +1 +4 +4 +4 +[0-9.]+ [kK]?B +order'
like 'schedule: messages as a table' "$("$probe" names --messages --step 2 --rank 1 "$out")" ' 2 +1 +[0-9]+ +send +1 to 0 +1 to 0 +backward +3 '

run_pipeline 2 by_hand
is 'by_hand: functions on the stack tell what a message belongs to where the order does not' \
	"$(python3 tests/e2e/pipeline_truth.py "$tmp/with" "$tmp/by_hand.json" 1 2)" 'same 32'
is 'by_hand: and that is reported' "$(grep -c '"told_by": "frames"' "$tmp/by_hand.json")" 32

# A job without a pipeline has no stages.
"$probe" names --messages --json tests/e2e >"$tmp/none" 2>&1
is 'a folder without a run' $? 2
"$probe" names --step 3 "$out" >"$tmp/none" 2>&1
is '--step alone' "$? $(cat "$tmp/none")" '2 probe: names: --step can only be used with --messages'
finish
