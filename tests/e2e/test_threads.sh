#!/usr/bin/env bash
# Threads: MPI_THREAD_MULTIPLE, more of them than cores, and libraries being loaded whose constructors wait for a thread
# that is in a recorded call; calls that are left by longjmp. With each MPI.
# timeout: 600
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || skip 'threads of MPI' 'no MPI, or its programs are not built (make apps)'
dies=
export MPI_LIMIT=40
cc -O1 -g -shared -fPIC -o "$tmp/storm_plugin.so" tests/apps/storm_plugin.c -lpthread || fail 'storm_plugin.c compiles'


# Thousands of threads at once: each has its slot and its room in the journal, whose memory grows with them and not before.
# program, field of what it printed
printed() {
	awk -v field="$2" '$1 == field {print $2}' "$tmp/$1"
}
cc -O2 -g -fPIC -shared -Wl,-soname,libstandin.so -Wl,-z,now -o "$tmp/libstandin.so" tests/bench/standin.c || fail 'standin.c compiles'
program many_threads -O2 -L"$tmp" -lstandin -Wl,-rpath,"$tmp" -lpthread
# SAID THREADS [NAME=VALUE ...]
many() {
	local said=$1 n=$2
	shift 2
	new_out
	# The shell says it when one was killed.
	{ env "$@" PROBE_OUTPUT_DIR="$out" LD_PRELOAD="$lib" timeout -k 5 120 "$tmp/many_threads" "$n" 10 $dies >"$tmp/$said"; } 2>"$tmp/$said.err"
}
if ! "$tmp/many_threads" 4000 10 >"$tmp/many.plain" 2>&1; then
	skip 'thousands of threads' 'thousands of threads cannot be started here'
else
	for n in 1000 4000; do
		many many.$n $n PROBE_JOURNAL_MIB=16
		is "$n threads at once, 10 calls each: none is lost" "$(rows "$out" 'len({r["seq"] for r in R}), sorted(set(Counter(r["thread"] for r in calls(R)).values())),
			[sum(m["calls"]["dropped"].values()) for m in M.values()]')" "($((n * 10)), [10], [0])"
	done
	many many.10 10 PROBE_JOURNAL_MIB=16
	memory=$(($(printed many.4000 Anonymous) - $(printed many.1000 Anonymous) - $(printed many.plain Anonymous) * 3 / 4))
	ok "memory for each thread that records, stack and all: $((memory / 3000)) KiB, at most 64" test $memory -lt $((3000 * 64))
	ok "10 threads take no memory for those that might come: $(printed many.10 Anonymous) KiB" test "$(printed many.10 Anonymous)" -lt 8192
	for dies in kill ''; do
		many many.shm 1000 PROBE_JOURNAL_MIB=16 PROBE_JOURNAL_DIR=shm PROBE_STACK=false
		[ -z "$dies" ] || "$probe" recover "$out" >/dev/null
		is "1000 threads, the journal in shared memory${dies:+, killed, recovered}: none is lost" "$(rows "$out" 'len({r["seq"] for r in R})')" 10000
	done
	dies=kill
	many many.killed 1000 PROBE_JOURNAL_MIB=16
	is '1000 threads, killed: the report counts every call before anything is recovered' "$("$probe" report --json "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["calls"])')" 10000
	is '1000 threads, killed: the report changes nothing in the journal' "$("$probe" recover "$out" >/dev/null; rows "$out" 'len({r["seq"] for r in R})')" 10000
	dies=fork
	many many.forked 1000 PROBE_JOURNAL_MIB=16 PROBE_FORK=follow
	is '1000 threads, forked: all calls of parent and child are recorded' "$(rows "$out" 'sorted(len({r["seq"] for r in calls(on(d))}) for d in dirs)')" '[10000, 10000]'
	dies=
	if can_mount; then
		mkdir "$tmp/small" && mount -t tmpfs -o size=16500k none "$tmp/small"
		many many.full 1000 PROBE_JOURNAL_MIB=16 PROBE_JOURNAL_DIR="$tmp/small" PROBE_STACK=false
		is '1000 threads, the disk full when the journal grows: each call is recorded or counted' "$(rows "$out" 'len({r["seq"] for r in R}) + sum(sum(m["calls"]["dropped"].values()) for m in M.values()),
			{(m["journal"]["kind"], m["journal"]["bytes"] <= 16777216) for m in M.values()}')" "(10000, {('file', True)})"
		umount "$tmp/small"
	else
		skip 'a full disk when the journal grows' 'mounting is not allowed here'
	fi
	dies=kill
	many many.killed 4000 PROBE_JOURNAL_MIB=16
	"$probe" recover "$out" >/dev/null
	is '4000 threads, killed, recovered: none is lost' "$(rows "$out" 'len({r["seq"] for r in R})')" 40000
	dies=
fi

for f in $flavours; do
	run_plain $f 2 mpi_threads
	new_out
	run_with $f 2 mpi_threads
	if [ $status = 77 ]; then
		skip "$f: threads" 'this MPI has no MPI_THREAD_MULTIPLE'
		continue
	fi
	same_result "$f: mpi_threads"
	contract "$f: mpi_threads" "$out" --p2p
	is "$f: mpi_threads: four threads a rank, the same work in each" "$(rows "$out" '{d: sorted(Counter(r["thread"] for r in calls(on(d))).values()) for d in dirs}')" \
		"{'rank0': [400, 400, 400, 400], 'rank1': [400, 400, 400, 400]}"

	run_plain $f 2 mpi_storm "$tmp/storm_plugin.so"
	new_out
	run_with $f 2 mpi_storm "$tmp/storm_plugin.so"
	same_result "$f: 16 threads and a storm of dlopen"
	contract "$f: 16 threads and a storm of dlopen" "$out" --partial
	is "$f: every call of the threads" "$(rows "$out" 'Counter(Counter((r["folder"], r["thread"]) for r in calls(R) if r["op"] == "all_reduce").values())')" 'Counter({200: 32})'
	is "$f: every call of the plugin's threads" "$(rows "$out" 'sorted(Counter(r["op"] for r in calls(R) if r["op"] != "all_reduce").items())')" \
		"[('all_gather', 10), ('all_to_all', 10), ('reduce', 10), ('scan', 10)]"
	is "$f: each communicator's calls are numbered in order" "$(rows "$out" '{sorted(int(r["comm_seq"]) for r in calls(R) if (r["folder"], r["comm"]) == k) == list(range(n))
		for k, n in Counter((r["folder"], r["comm"]) for r in calls(R)).items()}')" '{True}'

	# Threads that find no slot are counted, not waited for.
	new_out
	run_with $f 2 PROBE_JOURNAL_MIB=1 mpi_storm "$tmp/storm_plugin.so"
	same_result "$f: the same with a journal of 1 MiB"
	is "$f: what did not fit is counted" "$(rows "$out" '[len(calls(on(d))) + m["calls"]["dropped"]["journal_full"] + m["calls"]["dropped"]["too_many_threads"] for d, m in M.items()]')" '[3220, 3220]'

	# 10 calls after each jump; the first comes before anything was recorded.
	run_plain $f 2 mpi_jump
	new_out
	run_with $f 2 mpi_jump
	same_result "$f: mpi_jump"
	contract "$f: mpi_jump" "$out" --partial
	is "$f: calls after one that was left by longjmp" "$(rows "$out" '[Counter(r["api"] for r in calls(on(d)))["MPI_Allreduce"] for d in dirs]')" '[30, 30]'
done
finish
