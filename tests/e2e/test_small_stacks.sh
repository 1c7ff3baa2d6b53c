#!/usr/bin/env bash
# Threads with little stack: what a wrapper takes of it is measured, with the first call of a process made there; then
# programs of both MPIs on threads of 16 to 22 KiB, a fiber, and a signal handler on an alternate stack. Prints TAP.
# timeout: 300
. "$(dirname "$0")/lib.sh"

LIMIT=4096 # bytes of the caller's stack

# ---- how much is used ----

cc -O2 -g -fPIC -shared -Wl,-soname,libstandin.so -Wl,-z,now -DAT_REAL=stack_use_look -o "$tmp/libstandin.so" tests/bench/standin.c ||
	fail 'the stand-in compiles'
program stack_use -O2 -rdynamic -L"$tmp" -lstandin -Wl,-rpath,"$tmp" -Wl,-z,now -lpthread
cat >"$tmp/ring.c" <<'END'
void stack_use_look(void);
int ring_sum(const float *a, float *b, unsigned long n, int op)
{
	stack_use_look();
	b[0] = a[0] + (float)n;
	return op;
}
END
cc -O2 -shared -fPIC -Wl,-z,now -o "$tmp/libring.so" "$tmp/ring.c"
cat >"$tmp/custom.yaml" <<'END'
notation: 1
success: [0]
redop: {0: sum}
functions:
  ring_sum: {kind: allreduce, sig: "int (const float *send, float *recv, size_t count, int op)"}
END
printf 'custom:\n  - ring_sum\n' >"$tmp/list.yaml"

use() { # [NAME=VALUE ...] -- ARGS of stack_use; into $tmp/use
	local vars=()
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	env "${vars[@]}" "$tmp/stack_use" "$@" >"$tmp/use" 2>"$tmp/use.err"
	status=$?
}

over_limit() { # COLUMN[S]: lines of $tmp/use above the limit
	awk -v limit=$LIMIT '$2 > limit || $3 > limit' "$tmp/use"
}

use -- 16384 mpi
is 'without us the painted stack is hardly used' "$(wc -l <"$tmp/use") $(awk '$2 > 400 || $3 > 400' "$tmp/use")" '13 '
for bytes in 16384 20480 65536 131072 262144 1048576 8388608; do
	new_out
	use LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" -- $bytes mpi
	is "$bytes bytes of stack: the program ends well" "$status $(wc -l <"$tmp/use") $(cat "$tmp/use.err")" '0 13 '
	is "$bytes bytes of stack: at most $LIMIT of them are used" "$(over_limit)" ''
	is "$bytes bytes of stack: calls are recorded, with their stack" "$(rows "$out" 'sorted(Counter((r["api"], r["stack_id"] != "", r["max"] != "") for r in calls(R)).items())')" \
		"[(('MPI_Allreduce', True, True), 4), (('MPI_Bcast', True, True), 3), (('MPI_Isend', True, True), 1)]"
	new_out
	use LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_CUSTOM_APIS="$tmp/custom.yaml" PROBE_WRAP_OPS="$tmp/list.yaml" \
		-- $bytes custom "$tmp/libring.so"
	is "$bytes bytes of stack: a function called through libffi, after dlopen and dlsym" "$status $(wc -l <"$tmp/use") $(cat "$tmp/use.err")" '0 5 '
	is "$bytes bytes of stack: at most $LIMIT of them are used there" "$(grep -v '^dlopen' "$tmp/use" | awk -v limit=$LIMIT '$2 > limit || $3 > limit')" ''
	is "$bytes bytes of stack: it is recorded" "$(rows "$out" 'Counter((r["api"], r["stack_id"] != "") for r in calls(R))')" \
		"Counter({('ring_sum', True): 3})"
done

# The thread that ends the process writes what is left.
for vars in PROBE_LOG_LEVEL=1 PROBE_STATISTICS=false PROBE_STACK=false; do
	new_out
	use LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" $vars -- 16384 quit
	is "$vars: exit() on a thread of 16 KiB" "$status $(rows "$out" '[(len(calls(R)), m["state"]) for m in M.values()]')" "0 [(1, 'finished')]"
done

# ---- both MPIs ----

# Sizes on which MPI itself fails are not tried: MPICH on several ranks needs more than 64 KiB, and sometimes succeeds
# with less. Whether it is lucky shows in a thread that has LIMIT bytes less (but no thread has less than the 16384 of the C library).
try_on() { # FLAVOUR RANKS
	local f=$1 ranks=$2 sizes=() bytes
	for bytes in 16384 18432 20480 22528 262144; do
		run_plain $f $ranks mpi_small_stacks $((bytes - LIMIT < 16384 ? 16384 : bytes - LIMIT)) $bytes
		[ $status != 0 ] || sizes+=($bytes)
	done
	echo "# $f on $ranks ranks itself copes with ${sizes[*]:-none}"
	[ ${#sizes[@]} != 0 ] || { skip "$f on $ranks ranks: small stacks" 'it needs more stack itself'; return; }
	run_plain $f $ranks mpi_small_stacks "${sizes[@]}"
	new_out
	run_with $f $ranks mpi_small_stacks "${sizes[@]}"
	same_result "$f on $ranks ranks: threads of ${sizes[*]} bytes, a fiber and an alternate stack"
	contract "$f on $ranks ranks: small stacks" "$out" --p2p
	is "$f on $ranks ranks: every call has a stack but those on the fiber and in the handler" \
		"$(rows "$out" 'sorted(Counter((r["stack_id"] not in ("", "0")) for r in calls(on("rank0")) if r["api"] == "MPI_Allreduce").items())')" \
		"[(False, 40), (True, $((20 * ${#sizes[@]})))]"
}

for f in $flavours; do
	try_on $f 2
	try_on $f 1
done
finish
