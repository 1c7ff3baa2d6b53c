#!/usr/bin/env bash
# A program of UCC on a libucc.so.1 that computes on the processor: results unchanged, rows as the definitions of the collectives
# make them (ucc_truth.py), of requests that are posted once, again, by an event and at once.
# beside: its ranks sleep when they wait
# timeout: 600
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
app=$B/apps/ucc_calls
[ -x "$app" ] || {
	fail 'UCC: the program is built' 'make apps'
	finish
}
nccl_plain 2 "$app"
is 'the program itself' "$status" 0
new_out
nccl_with 2 "$app"
same_result 'UCC'
ok 'the list of rows is computed' python3 tests/e2e/ucc_truth.py
python3 tests/e2e/ucc_truth.py >"$tmp/list"
ok 'every row is the one of the list' python3 tests/e2e/contract_rows.py "$out" "$tmp/list" "$tmp/with.err"
contract 'UCC' "$out" --partial
is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
is 'the team has one number' "$(rows "$out" '[(c["lib"], c["kind"], c["size"], c["rank"]) for c in C], len({c["comm"] for c in C})')" \
	"([('ucc', 'team', '2', '0'), ('ucc', 'team', '2', '1')], 1)"
is 'time in the call that completed it counts as waiting' "$(rows "$out" 'all(0 < int(r["wait_ns"]) <= int(r["dur_ns"]) for r in calls(R))')" True
printf 'ucc: []\n' >"$tmp/none.yaml"
new_out
nccl_with 2 PROBE_WRAP_OPS="$tmp/none.yaml" "$app"
same_result 'UCC, not listed'
is 'not listed: nothing is recorded' "$(ls "$out" 2>/dev/null)" ''
finish
