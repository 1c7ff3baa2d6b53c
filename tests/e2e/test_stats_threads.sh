#!/usr/bin/env bash
# Key stats_threads in a real program: the job's result and every figure stay the same, the helpers are threads that no
# signal reaches, and where a rank has one core there are none. With each MPI.
# timeout: 420
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'stats_threads' 'no MPI, or its programs are not built (make apps)'; finish; }
export OMPI_MCA_hwloc_base_binding_policy=none
read -r core _ < <(taskset -cp $$ | sed 's/.*: //; s/[-,]/ /g')
cores=$(nproc)

figures() {
	rows "$out" '"\n".join(" ".join(r[k] for k in "folder comm_seq api io index dtype count min max mean norm zeros nans infs crc32".split())
		for d in dirs for r in sorted(on(d), key=lambda r: (int(r["seq"]), r["io"], int(r["index"] or 0))))'
}

helpers() { # PIDS: the status files of their helper threads
	local p t
	for p in "$@"; do
		for t in /proc/$p/task/*; do
			[ "$(cat "$t/comm" 2>/dev/null)" = probe-stats ] && echo "$t/status"
		done
	done
	return 0
}

there() { # N: there are N helpers in the ranks
	[ "$(helpers $(ranks_of "$out") | wc -l)" -ge "$1" ]
}

for f in $flavours; do
	run_plain $f 2 mpi_big
	first=''
	for n in 0 2; do
		new_out
		run_with $f 2 PROBE_STATS_THREADS=$n PROBE_STATS_THREADS_MIN_BYTES=1 PROBE_CHECKSUM=crc32 PROBE_LOG_LEVEL=2 mpi_big
		same_result "$f: stats_threads $n"
		contract "$f: stats_threads $n" "$out"
		now=$(figures)
		first=${first:-$now}
		is "$f: stats_threads $n: the figures and checksums of 0" "$now" "$first"
		said=$(grep -oE '[0-9]+ helper threads' "$tmp/with.err" | sort -u)
		if [ $n = 0 ]; then
			is "$f: stats_threads 0: no helper" "$said" ''
		elif [ "$cores" -gt 1 ]; then
			is "$f: stats_threads 2: as many helpers as leave a core to the calling thread" "$said" \
				"$((cores > 2 ? 2 : 1)) helper threads"
		fi
	done
	is "$f: rows with figures" "$(awk 'NF > 8' <<<"$first" | wc -l)" 39

	new_out
	run_with $f 2 PROBE_STATS_THREADS=2 PROBE_STATS_THREADS_MIN_BYTES=1 "$(command -v taskset)" -c "$core" "$B/apps/$f/mpi_big"
	same_result "$f: ranks that are pinned to one core"
	like "$f: pinned: says that there are no helpers" "$(cat "$tmp/with.err")" 'stats_threads: no core of this process is free'

	if [ "$cores" -gt 1 ]; then
		run_plain $f 1 mpi_children fork
		new_out
		run_with $f 1 PROBE_FORK=follow PROBE_STATS_THREADS=1 PROBE_STATS_THREADS_MIN_BYTES=1 PROBE_LOG_LEVEL=2 mpi_children fork
		same_result "$f: a forked child that is recorded"
		is "$f: has a helper of its own" "$(grep -c '1 helper threads' "$tmp/with.err")" 2
		new_out
		start_with $f 2 PROBE_STATS_THREADS=1 PROBE_STATS_THREADS_MIN_BYTES=1 mpi_big "$tmp/go"
		ok "$f: one helper in each rank" wait_until 60 there 2
		states=$(helpers $(ranks_of "$out"))
		# All but SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, and the two that glibc uses itself.
		is "$f: they block the job's signals" "$(sed -n 's/^SigBlk:\s*//p' $states | sort -u)" fffffffe7ffbfabf
		touch "$tmp/go"
		wait $launcher
		is "$f: the job ends well" $? 0
		gone "$out"
		rm -f "$tmp/go"
		is "$f: and is recorded to its end" "$(rows "$out" '{m["state"] for m in M.values()}')" "{'finished'}"
	else
		skip "$f: helpers of a running rank" 'this machine has one core'
	fi
done
finish
