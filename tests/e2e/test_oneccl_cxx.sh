#!/usr/bin/env bash
# A program of oneCCL's C++ interface on a libccl.so.1 that computes on the processor, and only when an event is asked: results
# unchanged, rows as written by hand. The real library: tests/long/oneccl.sh.
# beside: its ranks sleep when they wait
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
app=$B/apps/oneccl_cxx
[ -x "$app" ] || {
	fail 'oneCCL, C++: the program is built' 'make apps, with a C++ compiler'
	finish
}
nccl_plain 2 "$app" messages
is 'the program itself' "$status" 0
new_out
nccl_with 2 "$app" messages
same_result 'oneCCL, C++'
ok 'every row is the one written by hand' python3 tests/e2e/contract_rows.py "$out" tests/e2e/oneccl_cxx.expected "$tmp/with.err"
contract 'oneCCL, C++' "$out" --partial
is 'nothing is reported' "$(libprobe_lines "$tmp/with.err")" ''
is 'a communicator has one number, a part of it another' \
	"$(rows "$out" 'sorted((c["lib"], c["kind"], c["size"], c["rank"]) for c in C), len({c["comm"] for c in C}), {c["parent"] != "" for c in C if c["kind"] == "split"}')" \
	"([('oneccl', 'init', '2', '0'), ('oneccl', 'init', '2', '1'), ('oneccl', 'split', '2', '0'), ('oneccl', 'split', '2', '0'), ('oneccl', 'split', '2', '1'), ('oneccl', 'split', '2', '1')], 3, {True})"
# Lists of buffers, in vectors.
export APP_LISTS=all
nccl_plain 2 "$app" messages
new_out
nccl_with 2 "$app" messages
same_result 'lists of buffers'
cat tests/e2e/oneccl_cxx.expected tests/e2e/oneccl_lists.expected >"$tmp/expected"
ok 'lists of buffers: every row is the one written by hand' python3 tests/e2e/contract_rows.py "$out" "$tmp/expected" "$tmp/with.err"
contract 'lists of buffers' "$out" --partial
finish
