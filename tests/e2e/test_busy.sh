#!/usr/bin/env bash
# A machine with 20 processes that compute beside the job, or one for each processor, as an ordinary user, who cannot raise a
# priority again: no record is lost, the job ends at once, and what it recorded is in its files.
# timeout: 420
# alone: twenty processes compute beside it
# long: each number of ranks with each MPI, and for longer
# root: becomes an ordinary user by itself
. "$(dirname "$0")/lib.sh"

seconds=${BUSY_SECONDS:-$([ -n "${LONG:-}" ] && echo 2 || echo 1)}
as=()
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups true 2>/dev/null; then
	as=(setpriv --reuid 65534 --clear-groups)
	lib=$(copy_in_reach "$lib")
fi

burn() { # [HOW MANY]
	burners=()
	for _ in $(seq "${1:-20}"); do
		background bash -c 'while :; do :; done'
		burners+=($!)
	done
}

quench() {
	kill "${burners[@]}"
	wait "${burners[@]}" 2>/dev/null
}

# FLAVOUR RANKS [NAME=VALUE ...]: what it says in $said
loop() {
	local flavour=$1 ranks=$2 prog
	shift 2
	prog=$(realpath "$B/apps/$flavour/mpi_busy")
	[ ${#as[@]} = 0 ] || prog=$(copy_in_reach "$prog")
	# Open MPI's ranks and its mpirun must be one user's.
	if [ ${#as[@]} = 0 ] || [ "$flavour" = openmpi ]; then
		said=$(mpi_run "$flavour" "$ranks" "$@" "$prog" "$seconds" 2>"$tmp/err")
	else
		said=$(mpi_run "$flavour" "$ranks" "$@" "$(command -v setpriv)" "${as[@]:1}" "$prog" "$seconds" 2>"$tmp/err")
	fi
	status=$?
	said=$(grep -oE '^[0-9]+ calls' <<<"$said")
}

for f in ${BUSY_FLAVOURS:-$flavours}; do
	for n in 1 2; do
		has_turn $f "$n ranks" || continue
		burn
		loop "$f" $n
		plain=$said
		new_out
		mkdir "$out" && chmod 777 "$out"
		loop "$f" $n LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out" PROBE_LOG_LEVEL=1
		echo "# $f, $n ranks, load $(cut -d' ' -f1 /proc/loadavg): ${plain:-no calls} without, ${said:-none} with; $(grep -m1 finalize "$tmp/err")"
		quench
		is "$f, $n ranks: ends well" "$status" 0
		is "$f, $n ranks: nothing is dropped, all is in the files" \
			"$(rows "$out" 'sorted({(m["state"], sum(m["calls"]["dropped"].values()), m["calls"]["seen"] - m["calls"]["recorded"], m["rows"] - 2 * m["calls"]["recorded"]) for m in M.values()})')" \
			"[('finished', 0, 0, 0)]"
		# It took 4 to 42 s where the writer had the lowest priority and the end waited for its lock.
		is "$f, $n ranks: the end waits for no processor" \
			"$(awk '$1 == "finalize" { n++; if ($2 >= 4) print } END { if (!n) print "none" }' "$tmp/err")" ''
		is "$f, $n ranks: a CSV for each" "$(find "$out" -name 'calls_0-99.csv' -size +0 | wc -l)" $n
		is "$f, $n ranks: no journal is left" "$(find "$out" -name journal.bin)" ''
		is "$f, $n ranks: nothing is reported" "$(libprobe_lines "$tmp/err")" ''
	done
	# One process beside each processor's: the writer loses its processor for a few ms again and again, in the middle of its
	# writing, while the job fills the journal at full speed. One in ten calls was lost.
	has_turn $f 'a processor shared by two' || continue
	burn "$(nproc)"
	for try in 1 2 3; do
		new_out
		mkdir "$out" && chmod 777 "$out"
		seconds=2 loop "$f" 1 LD_PRELOAD="$lib" PROBE_OUTPUT_DIR="$out"
		is "$f, processors shared by two, $try: nothing is dropped" \
			"$status $(rows "$out" 'sorted({(m["state"], sum(m["calls"]["dropped"].values())) for m in M.values()})')" "0 [('finished', 0)]"
	done
	quench
done
finish
