#!/usr/bin/env bash
# Ascend's operators, on a libopapi.so that computes on a thread of the stream's: results unchanged, a row for each tensor of each
# second phase that the program made, by name and by pattern, looked up by handle on several threads; functions that only begin like one are
# not wrapped. On a device: in the order of the stream.
# beside: does not wait
. "$(dirname "$0")/lib.sh"
app=$B/apps/aclnn_calls library=$B/doubles/libopapi.so
[ -x "$app" ] && [ -e "$library" ] || {
	fail 'aclnn: the program is built' 'make apps'
	finish
}
library=$(realpath "$library")

with=("LD_PRELOAD=$lib")
streams=()
run_calls() { # FILE THREADS [NAME=VALUE ...] [LAUNCHER ...]
	local file=$1 threads=$2
	shift 2
	env "$@" "$app" "$library" "$tmp/truth" 66 "$threads" ${streams[@]+"${streams[@]}"} >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}

each() { # TEXT LIST PATTERN THREADS [--all|--any [NAME=VALUE ...]]
	local stats=${5:-} text=$1 list=$2 pattern=$3 threads=$4
	shift $(($# < 5 ? $# : 5))
	local threads_and=("$threads")
	streams=()
	[ "$stats" != --all ] || streams=(none)
	echo "acl: [$list]" >"$tmp/list.yaml"
	new_out
	run_calls "$tmp/plain" "${threads_and[@]}" "$@"
	cp "$tmp/truth" "$tmp/truth.plain"
	run_calls "$tmp/with" "${threads_and[@]}" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" "$@" "${with[@]}"
	same_result "$text"
	ok "$text: the program made the same calls, and got the same answers" cmp <(sort "$tmp/truth.plain") <(sort "$tmp/truth")
	ok "$text: every call and tensor, and no other" python3 tests/e2e/aclnn_truth.py "$out" "$tmp/truth" "$pattern" ${stats:+"$stats"}
	contract "$text" "$out"
	silent "$text: nothing is reported" "$tmp/with.err"
}

each 'all, 1 thread, no stream' '"aclnn*"' . 1 --all
is 'the program itself' "$(cat "$tmp/plain.status")" 0
is 'names of the columns' "$(rows "$out" 'sorted({(r["lib"], r["op"]) for r in R})[:2]')" "[('acl', 'Add'), ('acl', 'AminmaxDim')]"
is 'operations have a time' "$(rows "$out" 'all(int(r["dur_ns"]) > 0 and int(r["start_ns"]) > 0 for r in R)')" True
is 'in place' "$(rows "$out" 'sorted({(r["io"], r["index"]) for r in R if r["api"] == "aclnnInplaceAdd" and "inplace" in r["flags"]})')" \
	"[('in', '0'), ('in', '1'), ('out', '0')]"
each 'all, 1 thread' '"aclnn*"' . 1 --any
each 'all, 8 threads' '"aclnn*"' . 8
each 'second phases on another thread' '"aclnn*"' . 2 '' APP_QUEUE=1
each 'a communicator of HCCL' '"aclnn*"' . 1 --all APP_HCCL="$(realpath "$B/doubles/libhccl.so")"
is 'a communicator of HCCL: it is the one that was made' "$(rows "$out" '{c["kind"] for c in C} == {"init"} and any(r["comm"] for r in R)')" True
each 'a pattern' '"aclnnMat*"' '^aclnnMat' 2
each 'a name' 'aclnnAdd' '^aclnnAdd$' 2

# Linked: what is loaded at start has its stubs from `probe run`.
if command -v cc >/dev/null; then
	program aclnn_calls -DLINKED -Itests/apps -Itests/doubles/aclnn "$library" -Wl,-rpath,"$(dirname "$library")" -lpthread -lm
	app=$tmp/aclnn_calls with=("$probe" run --)
	each 'linked, by probe run' '"aclnn*"' . 2
	program aclnn_fiber -Itests/doubles/aclnn "$library" -Wl,-rpath,"$(dirname "$library")"
	echo 'acl: ["aclnn*"]' >"$tmp/list.yaml"
	new_out
	is 'at the end of a stack: the results' "$(env PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" "$probe" run -- "$tmp/aclnn_fiber" 2>&1)" \
		$'0 3 9\n0 3 9'
	is 'at the end of a stack: the rows' "$(rows "$out" '[(r["io"], r["shape"], r["min"], r["max"]) for r in R]')" \
		"[('in', '4', '1', '4'), ('out', '4', '3', '9'), ('in', '4', '1', '4'), ('out', '4', '3', '9')]"
	# As many as torch_npu 2.14.0 looks up: the n-th wants n bytes.
	for ((i = 0; i < 904; i++)); do
		echo "int aclnnOp${i}GetWorkspaceSize(void) { return 0; }"
		echo "int aclnnOp$i(void *w, unsigned long n, void *x, void *s) { (void)w, (void)x, (void)s; return n != $i; }"
	done >"$tmp/many.c"
	cat >"$tmp/all.c" <<-'C'
		#include <dlfcn.h>
		#include <stdio.h>
		int main(int argc, char **argv)
		{
			void *h = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
			char name[32];
			int bad = 0;
			for (unsigned long i = 0; i < 904; i++) {
				int (*f)(void *, unsigned long, void *, void *);
				snprintf(name, sizeof(name), "aclnnOp%lu", i);
				*(void **)&f = dlsym(h, name);
				bad += f(NULL, i, NULL, NULL);
			}
			return bad > 0;
		}
	C
	cc -O0 -shared -fPIC -o "$tmp/libmany.so" "$tmp/many.c"
	program "$tmp/all.c" -ldl
	new_out
	echo 'acl: ["aclnn*"]' >"$tmp/list.yaml"
	ok 'many operators' env PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" LD_PRELOAD="$lib" "$tmp/all" "$tmp/libmany.so"
	is 'many operators: each is recorded' "$(rows "$out" 'len({r["api"] for r in R}), len(R)')" '(904, 904)'
else
	skip 'linked' 'no compiler'
fi
app=$B/apps/aclnn_calls streams=()

new_out
run_calls "$tmp/with" 2 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'with the default list nothing is recorded' "$(ls "$out" 2>/dev/null)" ''
# In the device's memory: the stream copies what the operator has at its place in the stream's order.
npu=$(realpath "$B/doubles/npu/libopapi.so")
on_npu() { # DEVICE
	new_out
	"$B/apps/aclnn_device" "$npu" >"$tmp/plain" 2>"$tmp/plain.err"
	echo $? >"$tmp/plain.status"
	env LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" PROBE_DEVICE="$1" \
		"$B/apps/aclnn_device" "$npu" >"$tmp/with" 2>"$tmp/with.err"
	echo $? >"$tmp/with.status"
	same_result "on a device, $1"
	silent "on a device, $1: nothing is reported" "$tmp/with.err"
	contract "on a device, $1" "$out" --partial
}
echo 'acl: ["aclnn*"]' >"$tmp/list.yaml"
on_npu copy
is 'on a device: operators that the stream had not begun when they were called' "$(rows "$out" '[(r["io"], r["max"]) for r in R[:6]]')" \
	"[('in', '7'), ('in', '70'), ('out', '77'), ('in', '77'), ('in', '77'), ('out', '154')]"
is 'on a device: results' "$(rows "$out" '[r["max"] for r in R[6:] if r["io"] == "out"][:3]')" "['161', '161', '161']"
on_npu auto
is 'on a device, auto: there is no kernel, so no values' "$(rows "$out" '{(r["max"], "nostats" in r["flags"]) for r in R}')" "{('', True)}"
finish
