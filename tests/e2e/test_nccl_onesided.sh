#!/usr/bin/env bash
# NCCL's windows and one-sided calls (ncclPutSignal, ncclSignal, ncclWaitSignal) on a libnccl.so.2 that computes on the
# processor: results unchanged, rows as written by hand, windows as communicators; and NCCLX's older functions of these names,
# whose calls must get through as they are. Prints TAP.
# beside: its ranks sleep when they wait
. "$(dirname "$0")/lib.sh"
. tests/e2e/nccl.sh
[ -x "$B/apps/nccl/nccl_onesided" ] || {
	skip 'NCCL, one-sided' 'the programs are not built (make apps)'
	finish
}

nccl_plain 2 nccl_onesided
is 'the program itself' "$status" 0
new_out
nccl_with 2 nccl_onesided
same_result 'one-sided'
ok 'every row is the one written by hand' python3 tests/e2e/contract_rows.py "$out" tests/e2e/nccl_onesided.expected "$tmp/with.err"
contract 'one-sided' "$out" --partial
silent 'nothing is reported' "$tmp/with.err"
is 'windows are communicators, with the ranks of those they were made over' \
	"$(rows "$out" '[(c["kind"], c["size"], c["rank"]) for c in on("rank1", C)]')" \
	"[('window', '2', '1'), ('init', '2', '1'), ('window', '2', '1'), ('window', '2', '1'), ('window', '2', '1'), ('init', '2', '1')]"
is 'one number for a window on all its ranks, another one for each' \
	"$(rows "$out" '[c["comm"] for c in on("rank0", C)] == [c["comm"] for c in on("rank1", C)], len({c["comm"] for c in C})')" '(True, 6)'
is 'a window knows its communicator' \
	"$(rows "$out" '(lambda i: [i.index(c["parent"]) for c in on("rank0", C) if c["kind"] == "window"])([c["comm"] for c in on("rank0", C) if c["kind"] == "init"])')" '[0, 0, 0, 1]'
ok 'the report reads it' "$probe" report "$out"

# NCCLX up to 2.28: C functions of the same names with fewer parameters, other ones, and wider ones in their places.
cat >"$tmp/older.c" <<-'EOF'
	#include <stddef.h>
	#include <stdint.h>
	#define WIN ((void *)0x1122334455667788)
	#define STREAM ((void *)0x8877665544332211)
	#ifdef VERSION
	int ncclGetVersion(int *v) { *v = VERSION; return 0; }
	#endif
	int ncclCommCount(void *c, int *n) { return c == WIN ? (*n = 1, 0) : *(volatile int *)0; }
	int ncclCommUserRank(void *c, int *r) { return c == WIN ? (*r = 0, 0) : *(volatile int *)0; }
	int ncclAllReduce(const void *in, void *out, size_t n, int t, int op, void *c, void *s)
	{
		return in == out && n == 2 && t == 7 && !op && c == WIN && s == STREAM ? 0 : 4;
	}
	int ncclPutSignal(const void *in, size_t n, int t, int peer, size_t at, void *win, void *s)
	{
		return in && n == 2 && t == 7 && peer == 3 && at == (size_t)1 << 40 && win == WIN && s == STREAM ? 0 : 4;
	}
	int ncclSignal(int peer, void *win, void *s) { return peer == 3 && win == WIN && s == STREAM ? 0 : 4; }
	int ncclWaitSignal(int peer, void *win, void *s) { return peer == 3 && win == WIN && s == STREAM ? 0 : 4; }
EOF
cat >"$tmp/older_app.c" <<-'EOF'
	#include <stddef.h>
	#include <stdio.h>
	#define WIN ((void *)0x1122334455667788)
	#define STREAM ((void *)0x8877665544332211)
	int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *);
	int ncclPutSignal(const void *, size_t, int, int, size_t, void *, void *);
	int ncclSignal(int, void *, void *);
	int ncclWaitSignal(int, void *, void *);
	int main(void)
	{
		float x[2] = {1, 2};
		for (int i = 0; i < 2; i++) {
			printf("%d", ncclAllReduce(x, x, 2, 7, 0, WIN, STREAM));
			printf(" %d", ncclPutSignal(x, 2, 7, 3, (size_t)1 << 40, WIN, STREAM));
			printf(" %d", ncclSignal(3, WIN, STREAM));
			printf(" %d\n", ncclWaitSignal(3, WIN, STREAM));
		}
		return 0;
	}
EOF
for version in 22707 22803 ''; do
	text="NCCLX ${version:-without a version}"
	mkdir -p "$tmp/older$version"
	ok "$text: the library" cc -O2 ${version:+-DVERSION=$version} -shared -fPIC -Wl,-soname,libnccl.so.2 -o "$tmp/older$version/libnccl.so.2" "$tmp/older.c"
	ok "$text: the program" cc -O2 -o "$tmp/older$version/app" "$tmp/older_app.c" "$tmp/older$version/libnccl.so.2" -Wl,-rpath,"$tmp/older$version"
	nccl_plain 1 "$tmp/older$version/app"
	is "$text: the program itself" "$(cat "$tmp/plain")" "$(printf '0 0 0 0\n0 0 0 0')"
	new_out
	nccl_with 1 "$tmp/older$version/app"
	same_result "$text: arguments arrive whole"
	is "$text: its own functions are not recorded as others" "$(rows "$out" 'Counter(r["api"] for r in calls(R))')" "Counter({'ncclAllReduce': 2})"
	new_out
	nccl_with 1 PROBE_WRAP_OPS=/dev/null "$tmp/older$version/app"
	same_result "$text: nor while nothing is recorded"
done
finish
