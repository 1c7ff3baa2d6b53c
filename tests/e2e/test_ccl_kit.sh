#!/usr/bin/env bash
# A second library whose communicators start from a unique id (tests/doubles/xccl), known by its YAML and the kit of
# wrappers/ccl: rows, communicators and their numbers. Prints TAP.
# beside: does not wait busily
# root: writes the build folder
. "$(dirname "$0")/lib.sh"

[ -x "$B/xccl/xccl_calls" ] || {
	fail 'the toy library is built' 'make apps'
	finish
}
ok 'the adapter has at most 40 lines' test "$(wc -l <tests/doubles/xccl/adapter.c)" -le 40
printf 'xccl:\n  - xccl*\n' >"$tmp/list.yaml"

# calls OUT ID: both ranks, one after the other; the library does not wait.
calls() {
	local r
	for r in 0 1; do
		env RANK=$r WORLD_SIZE=2 LD_PRELOAD="$(realpath "$B/xccl/libprobe.so")" PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_OUTPUT_DIR="$1" \
			"$B/xccl/xccl_calls" $r 2 "$2" >"$tmp/with.$r" 2>"$tmp/err.$r" || return
	done
}
for r in 0 1; do
	"$B/xccl/xccl_calls" $r 2 a >"$tmp/plain.$r"
done
new_out
ok 'both ranks run' calls "$out" a
is 'results are as without libprobe' "$(cat "$tmp"/with.[01])" "$(cat "$tmp"/plain.[01])"
is 'nothing is reported' "$(cat "$tmp"/err.[01])" ''
contract 'xccl' "$out" --partial
is 'calls with buffers, dtype, reduction and communicator size' \
	"$(rows "$out" '[(r["api"], r["lib"], r["io"], r["dtype"], r["count"], r["redop"], r["size"], r["max"]) for r in on("rank1")][:4]')" \
	"[('xcclAllReduce', 'xccl', 'in', 'float32', '4', 'sum', '2', '3'), ('xcclAllReduce', 'xccl', 'out', 'float32', '4', 'sum', '2', '6'), ('xcclAllReduce', 'xccl', 'in', 'float64', '2', 'max', '2', '5'), ('xcclAllReduce', 'xccl', 'out', 'float64', '2', 'max', '2', '5')]"
is 'outputs of a gather are as large as the communicator' \
	"$(rows "$out" '[r["count"] for r in on("rank0") if r["api"] == "xcclAllGather"]')" "['2', '4']"
is 'a failed call is one' "$(rows "$out" '[r["flags"] for r in calls(on("rank0")) if r["flags"].startswith("error")]')" "['error:9']"
is 'communicators: rank and size queried where no call says them' \
	"$(rows "$out" '[(c["lib"], c["kind"], c["size"], c["rank"]) for c in on("rank1", C)]')" \
	"[('xccl', 'init', '2', '1'), ('xccl', 'sub', '2', '1'), ('xccl', 'sub', '2', '1'), ('xccl', 'init_all', '2', '1')]"
is 'one number on all ranks for a communicator, another one for each; parts know their parent' \
	"$(rows "$out" '[c["comm"] for c in on("rank0", C)][:3] == [c["comm"] for c in on("rank1", C)][:3], len({c["comm"] for c in on("rank0", C)}), {c["parent"] for c in C if c["kind"] == "sub"} == {c["comm"] for c in C if c["kind"] == "init"}')" \
	'(True, 4, True)'
first=$(rows "$out" '[c["comm"] for c in on("rank0", C)][0]')
new_out
ok 'another id' calls "$out" b
isnt 'another id is another communicator' "$(rows "$out" '[c["comm"] for c in on("rank0", C)][0]')" "$first"
finish
