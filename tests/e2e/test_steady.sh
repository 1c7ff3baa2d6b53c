#!/usr/bin/env bash
# A recorded call asks for no memory, takes no lock and makes no system call once all is warm: counted over 100,000
# calls with statistics and stacks (tests/apps/steady.c).
# timeout: 420
. "$(dirname "$0")/lib.sh"

build() { # NAME COMMAND...: a step that everything hangs on
	local said
	shift
	said=$("$@" 2>&1) && return
	fail "builds: $*" "$said"
	finish
}

flags=(-std=gnu11 -O2 -g -Wall -D_GNU_SOURCE -I. -Itests/bench)
build count cc "${flags[@]}" -fPIC -shared -ftls-model=initial-exec -fno-builtin -o "$tmp/libcount.so" tests/apps/steady_count.c -ldl
build standin cc "${flags[@]}" -fPIC -shared -Wl,-soname,libstandin.so -o "$tmp/libstandin.so" tests/bench/standin.c
build steady cc "${flags[@]}" -DSTANDIN -o "$tmp/steady" tests/apps/steady.c -L"$tmp" -lstandin -Wl,-rpath,"$tmp" -lpthread

# The journal is large enough that never an eighth of it is in use: waking the writer is a system call. In shared memory it has its size
# from the start; a file grows by need, which takes system calls.
export PROBE_JOURNAL_MIB=512 PROBE_JOURNAL_DIR=shm

# NAME PRELOAD MODE: what it counts in $said
count() {
	new_out
	said=$(LD_PRELOAD=$1 PROBE_OUTPUT_DIR=$out "$tmp/steady" $2 2>&1)
	status=$?
}

count "$tmp/libcount.so:$lib" trap
if [ $status = 77 ]; then
	skip 'no memory, lock or system call in 100,000 calls' 'seccomp filters cannot be set here'
else
	# In the first seconds after a library was loaded the loader is asked for a device's runtime. Should the writer thread
	# hold the loader's lock just then, that is a futex (202).
	ok "no memory, lock or system call in 100,000 calls: $said" \
		grep -qE '^memory 0, locks 0, system calls (0 .*: -1|[1-5] .*: 202)' <<<"$said"
	"$probe" recover "$out" >/dev/null 2>&1
	is 'all of them have their rows' "$(cat "$out"/rank0/calls_*.csv | grep -cE ',MPI_(Allreduce|Bcast),')" \
		$(((100000 + 110000 + 1000) / 4 * 6))
	count "$tmp/libcount.so:$lib" lock
	ok "what a call does shows: $said" grep -qE '^memory 50000, locks 25000, system calls 2500[0-5] ' <<<"$said"
fi

# A real MPI does some of it itself, Open MPI's event loop by the clock: with us no memory, and not a lock per call.
numbers() {
	grep -oE '[0-9]+' <<<"$1" | head -2 | tr '\n' ' '
}
for f in $flavours; do
	build "$f" mpicc.$f "${flags[@]}" -o "$tmp/steady_$f" tests/apps/steady.c
	new_out
	plain=$(mpi_run $f 1 LD_PRELOAD="$tmp/libcount.so" "$tmp/steady_$f" 2>/dev/null)
	with=$(mpi_run $f 1 LD_PRELOAD="$tmp/libcount.so:$lib" PROBE_OUTPUT_DIR="$out" "$tmp/steady_$f" 2>/dev/null)
	read -r memory0 locks0 < <(numbers "$plain")
	read -r memory locks < <(numbers "$with")
	is "$f: as much memory as without" "${memory:-none}" "${memory0:-no count}"
	ok "$f: no locks of ours (${locks:-none}, ${locks0:-none} without)" test "${locks:-1000000}" -lt $((${locks0:-0} + 1000))
done
finish
