#!/usr/bin/env bash
# A program of HCCL on a libhccl.so that computes on the processor: results unchanged, rows as written by hand; linked, and
# loaded as torch_npu loads it. Prints TAP.
# beside: its ranks sleep when they wait
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
app=$B/apps/hccl/hccl_contract
[ -x "$app" ] || {
	fail 'HCCL: the program is built' 'make apps'
	finish
}
clusters=0

cluster() { # A file for each run: its name stands for the communicator's memory
	clusters=$((clusters + 1))
	echo "hccl-cluster-$$-$clusters 2" >"$tmp/ranktable"
}

recorded() { # TEXT [NAME=VALUE ...]
	local text=$1
	shift
	cluster
	new_out
	nccl_with 2 APP_CLUSTER="$tmp/ranktable" "$@" "$app"
	same_result "$text"
	ok "$text: every row is the one written by hand" python3 tests/e2e/contract_rows.py "$out" tests/e2e/hccl_contract.expected \
		"$tmp/with.err"
	contract "$text" "$out" --partial
	is "$text: nothing is reported" "$(libprobe_lines "$tmp/with.err" | grep -v RTLD_DEEPBIND)" ''
	is "$text: communicators have one number on all their ranks" \
		"$(rows "$out" 'sorted((c["kind"], c["size"], n) for n, c in ((sum(o["comm"] == c["comm"] for o in C), c) for c in on("rank0", C)))')" \
		"[('cluster', '2', 2), ('cluster', '2', 2), ('group', '2', 2), ('init', '2', 2), ('sub', '1', 1), ('sub', '2', 2)]"
	is "$text: a part knows its parent" \
		"$(rows "$out" '{c["parent"] for c in C if c["kind"] == "sub"} == {c["comm"] for c in C if c["kind"] == "init"}')" True
}

cluster
nccl_plain 2 APP_CLUSTER="$tmp/ranktable" "$app"
is 'the program itself' "$status" 0
recorded 'linked'
recorded 'loaded, its functions looked up by handle' APP_LOAD="$(realpath "$B/doubles/libhccl.so")"
# The plugin of MindSpore's wheel (2.10.0): libhccl_plugin.so, which has none of the functions and needs libhccl.so, is opened with
# RTLD_NOW | RTLD_DEEPBIND, and each function is asked of its handle.
echo 'int plugin_of_its_own;' | cc -shared -fPIC -o "$tmp/libhccl_plugin.so" -x c - -Wl,--no-as-needed -L"$B/doubles" -lhccl \
	-Wl,-rpath,"$(realpath "$B/doubles")"
is "the plugin has nothing of HCCL's itself" "$(nm -D "$tmp/libhccl_plugin.so" | grep -c Hccl)" 0
recorded "loaded as MindSpore's plugin does" APP_LOAD="$tmp/libhccl_plugin.so" APP_DEEPBIND=1

# Names select as in the list; the report reads it.
printf 'hccl:\n  - HcclAll*\n' >"$tmp/list.yaml"
cluster
new_out
nccl_with 2 APP_CLUSTER="$tmp/ranktable" PROBE_WRAP_OPS="$tmp/list.yaml" "$app"
same_result 'another list'
is 'another list: what it names' "$(rows "$out" 'sorted({r["api"] for r in R})')" \
	"['HcclAllGather', 'HcclAllGatherV', 'HcclAllReduce', 'HcclAlltoAll', 'HcclAlltoAllV', 'HcclAlltoAllVC']"
ok 'the report reads it' "$probe" report "$out"
finish
