#!/usr/bin/env bash
# A program of oneCCL's C interface on a libccl.so.2 that computes on the processor: results unchanged, rows as written by
# hand. (The real library makes no communicator without a GPU.)
# beside: its ranks sleep when they wait
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
app=$B/apps/oneccl_calls
[ -x "$app" ] || {
	fail 'oneCCL: the program is built' 'make apps'
	finish
}
load=$(realpath "$B/doubles/libccl.so.2")
nccl_plain 2 APP_LOAD="$load" "$app"
is 'the program itself' "$status" 0
new_out
nccl_with 2 APP_LOAD="$load" "$app"
same_result 'oneCCL'
ok 'every row is the one written by hand' python3 tests/e2e/contract_rows.py "$out" tests/e2e/oneccl_calls.expected "$tmp/with.err"
contract 'oneCCL' "$out" --partial
is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
is 'the communicator has one number' "$(rows "$out" '[(c["lib"], c["kind"], c["size"], c["rank"]) for c in C], len({c["comm"] for c in C})')" \
	"([('oneccl', 'init', '2', '0'), ('oneccl', 'init', '2', '1')], 1)"
finish
