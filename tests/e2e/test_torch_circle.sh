#!/usr/bin/env bash
# Two ranks of a training that wait for each other in operations of two groups. Gloo's wait for an operation leaves no record.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'ranks that wait for each other in asynchronous operations'
app=tests/apps/py/crossed_groups.py

read_report() { # PYTHON, which prints of r, the report of the folder
	"$B/probe" report --json "$out" 2>/dev/null | python3 -c "import json, sys; r = json.loads(sys.stdin.read() or '{}'); $1"
}
faults() { # one in a line
	read_report 'print(*(f["kind"] + " " + f["text"].replace("\n", " ") for f in r.get("findings", []) if f["severity"] == "bad"), sep="\n")'
}

new_out
torchrun_plain 3 $app late
torchrun_with 3 $app late &
training=$!
started+=("$training")
said= looked=0
while kill -0 "$training" 2>/dev/null; do
	said+=$(faults)
	# Both have started an operation that the other one has not.
	looked=$((looked + $(read_report 'print(int(len({o["comm"] for o in r.get("open", []) if o["op"] == "all_reduce"}) == 2))')))
	sleep 0.3
done
wait "$training"
same_output 'operations of two groups, started in another order on each rank'
is '... are seen while they are only started' "$((looked > 0))" 1
is '... which is no fault' "$said" ''

new_out
torchrun_with 3 $app wait &
training=$!
started+=("$training")
for _ in {1..120}; do
	said=$(faults)
	[ -z "$said" ] || break
	sleep 1
done
like 'while it runs: the circle, with the operation and the line of each rank' "$said" \
	'^deadlock .*2 ranks wait for each other in a circle rank 0 waits in all_reduce #0 .* for rank 1, called from <module> \(crossed_groups\.py:17\).* rank 1 waits in all_reduce #0 .* for rank 0'
is '... and nothing else is a fault' "$(grep -c . <<<"$said")" 1
pkill -KILL -f "$app wait"
wait "$training"
is 'of the ended job it says the same' "$(faults | cut -d' ' -f1)" deadlock
is '... and nothing else' "$(faults | wc -l)" 1
finish
