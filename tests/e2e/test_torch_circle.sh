#!/usr/bin/env bash
# Two ranks of a training that wait for each other in operations of two groups. Gloo's wait for an operation leaves no record.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. tests/e2e/torch.sh
torch_python 'ranks that wait for each other in asynchronous operations'
app=tests/apps/py/crossed_groups.py

new_out
torchrun_plain 3 $app late
torchrun_with 3 $app late
same_output 'operations of two groups, started in another order on each rank'
like '... which is no fault while they are only started' "$("$B/probe" report "$out")" '^No fault found|^Nothing found'

new_out
torchrun_with 3 $app wait &
training=$!
started+=("$training")
faults() { # of the folder, one in a line
	"$B/probe" report --json "$out" 2>/dev/null | python3 -c '
import json, sys
for f in json.loads(sys.stdin.read() or "{}").get("findings", []):
    if f["severity"] == "bad":
        print(f["kind"], f["text"].replace("\n", " "))'
}
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
