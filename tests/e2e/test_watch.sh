#!/usr/bin/env bash
# `probe watch`: findings of finished runs, and of a job that sends a NaN and then hangs, while it runs. Prints TAP.
. "$(dirname "$0")/lib.sh"

gen=$tmp/gen
cc -O2 -std=gnu11 -D_GNU_SOURCE -Ipreload -o "$gen" tests/bench/gen_folder.c || { fail 'gen_folder.c compiles'; finish; }
note='printf "%s|%s|%s|%s|%s\n" "$PROBE_FINDING_KIND" "$PROBE_FINDING_SEVERITY" "$PROBE_FINDING_STEP" "$PROBE_FINDING_RANKS" "$PROBE_FINDING_DIR" >>'

$gen -r 4 -s 60 -c 4 -g 2 "$tmp/plain"
is 'a clean run: nothing is reported' "$("$probe" watch --exec "$note $tmp/noted" "$tmp/plain"; echo $?)" 0
is 'no command is started' "$(ls "$tmp" | grep -c noted)" 0

$gen -r 8 -s 60 -c 4 -g 4 -b 31:6 -l 5:3000000 "$tmp/nan"
said=$("$probe" watch --exec "$note $tmp/noted" "$tmp/nan")
is 'a NaN: status' $? 1
like 'it is reported' "$said" '^[0-9:]+ nan: first in step 31, rank 6'
is 'the command has it in its environment' "$(cat "$tmp/noted")" "nan|bad|31|6|$tmp/nan"
said=$("$probe" watch --severity warn "$tmp/nan" | cut -d' ' -f2 | tr '\n' ' ')
is '--severity warn: warnings too' "$said" 'nan: straggler: '
is '--once: the first one' "$("$probe" watch --severity warn --once "$tmp/nan" | wc -l)" 1
for a in '--severity worse' '--interval 0' 'a b' '--what'; do
	"$probe" watch $a >"$tmp/o" 2>"$tmp/e"
	is "watch $a: status, one line" "$? $(wc -l <"$tmp/e")" '2 1'
done

# The rank that sends the NaN comes back from that operation three seconds after the others: until then the record has their bad
# results, and not its input.
cat >"$tmp/late.c" <<'C'
#include <math.h>
#include <mpi.h>
#include <unistd.h>
int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	static int seen;
	int rank, err = PMPI_Allreduce(in, out, n, type, op, comm);

	PMPI_Comm_rank(comm, &rank);
	if (rank == 1 && type == MPI_FLOAT && !seen && !err && isnan(*(float *)out)) {
		seen = 1;
		sleep(3);
	}
	return err;
}
C

# A job that does not run yet, sends a NaN, then hangs: each is reported once, while it lives.
for m in $flavours; do
	new_out
	rm -f "$tmp/noted"
	"$probe" watch --interval 0.5 --exec "$note $tmp/noted" "$out" >"$tmp/watched" 2>"$tmp/watched.err" &
	watch=$!
	started+=($watch)
	mpicc.$m -shared -fPIC -o "$tmp/late.so" "$tmp/late.c"
	PRELOAD="$lib:$tmp/late.so" start_with $m 3 PROBE_STEP_MARKER=MPI_Reduce train_digits --epochs 3 --nan-at 20:1 --hang 40:2
	wait_until 30 grep -q '^nan' "$tmp/noted"
	is 'a NaN in a living job' "$(grep '^nan' "$tmp/noted")" "nan|bad|20|1|$out"
	ok 'the job lives' test -n "$(ranks_of "$out")"
	wait_until 40 grep -q '^hang' "$tmp/noted"
	like 'its hang, with the rank that is missing' "$(grep '^hang' "$tmp/noted")" '^hang\|bad\|40\|[0-2,-]*2?\|'
	sleep 1.5
	is 'each once' "$(cut -d'|' -f1 "$tmp/noted" | sort | uniq -c | awk '{print $1 $2}' | tr '\n' ' ')" '1hang 1nan '
	ok 'it looks on' kill -0 $watch
	for p in $(ranks_of "$out"); do kill -9 "$p"; done
	wait $watch
	is 'it ends with the job: status' $? 1
	break
done
finish
