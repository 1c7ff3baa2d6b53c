#!/usr/bin/env bash
# Ascend's operators, on a libopapi.so that computes on a thread of the stream's: results unchanged, a row for each second phase
# that the program made, by name and by pattern, looked up by handle on several threads; what only begins like one is left alone.
# beside: nothing of it waits
. "$(dirname "$0")/lib.sh"
app=$B/apps/aclnn_calls library=$B/doubles/libopapi.so
[ -x "$app" ] && [ -e "$library" ] || {
	fail 'aclnn: the program is built' 'make apps'
	finish
}
library=$(realpath "$library")

with=("LD_PRELOAD=$lib")
run_calls() { # FILE THREADS [NAME=VALUE ...] [LAUNCHER ...]
	local file=$1 threads=$2
	shift 2
	env "$@" "$app" "$library" "$tmp/truth" 48 "$threads" >"$file" 2>"$file.err" </dev/null
	echo $? >"$file.status"
}

# The program's list of calls: those whose name fits, how often, and how many of them were refused.
counted() { # PATTERN
	awk -v fits="$1" '$1 ~ fits && $1 != "none" {n[$1]++; bad[$1] += $2 == "refused"} END {for (k in n) print k, n[k], bad[k]}' \
		"$tmp/truth" | sort
}

recorded() {
	rows "$out" '"\n".join(" ".join((a, str(sum(r["api"] == a for r in R)), str(sum(r["api"] == a and "error:161002" in r["flags"] for r in R)))) for a in sorted({r["api"] for r in R}))'
}

each() { # TEXT LIST PATTERN THREADS
	echo "acl: [$2]" >"$tmp/list.yaml"
	new_out
	run_calls "$tmp/plain" "$4"
	sort -o "$tmp/truth" "$tmp/truth"
	cp "$tmp/truth" "$tmp/truth.plain"
	run_calls "$tmp/with" "$4" PROBE_OUTPUT_DIR="$out" PROBE_WRAP_OPS="$tmp/list.yaml" "${with[@]}"
	sort -o "$tmp/truth" "$tmp/truth"
	same_result "$1"
	ok "$1: the program made the same calls, and got the same answers" cmp "$tmp/truth.plain" "$tmp/truth"
	is "$1: every call, and no other" "$(recorded)" "$(counted "$3")"
	contract "$1" "$out"
	silent "$1: nothing is said" "$tmp/with.err"
}

each 'all, 1 thread' '"aclnn*"' . 1
is 'the program itself' "$(cat "$tmp/plain.status")" 0
is 'names of the columns' "$(rows "$out" 'sorted({(r["lib"], r["op"]) for r in R})[:2]')" "[('acl', 'Add'), ('acl', 'InplaceAdd')]"
is 'operations have a time' "$(rows "$out" 'all(int(r["dur_ns"]) > 0 and int(r["start_ns"]) > 0 for r in R)')" True
each 'all, 8 threads' '"aclnn*"' . 8
each 'a pattern' '"aclnnMat*"' '^aclnnMat' 2
each 'a name' 'aclnnAdd' '^aclnnAdd$' 2

# Linked: what is loaded at start has its stubs from `probe run`.
if command -v cc >/dev/null; then
	program aclnn_calls -DLINKED -Itests/doubles/aclnn "$library" -Wl,-rpath,"$(dirname "$library")" -lpthread
	app=$tmp/aclnn_calls with=("$probe" run --)
	each 'linked, by probe run' '"aclnn*"' . 2
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
app=$B/apps/aclnn_calls

new_out
run_calls "$tmp/with" 2 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
is 'by the default list there is nothing' "$(ls "$out" 2>/dev/null)" ''
finish
