#!/usr/bin/env bash
# What libprobe itself takes between two calls is not the program's: where one rank alone gets, and has what it got measured behind
# each flush, no rank is called slow; where it computes longer too, it is. Prints TAP.
. "$(dirname "$0")/lib.sh"
[ -n "$flavours" ] || { skip 'own time' 'no MPI, or its programs are not built (make apps)'; finish; }
cat >"$tmp/gets.c" <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

enum { N = 1 << 22 };

int main(int argc, char **argv)
{
	int rank, late = argc > 1 ? atoi(argv[1]) : 0;
	double *to = calloc(N, sizeof *to), *base;
	MPI_Win win;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Win_allocate(N * sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
	for (int i = 0; i < N; i++)
		base[i] = to[i] = i;
	MPI_Win_lock_all(0, win);
	for (int step = 0; step < 40; step++) {
		if (rank == 0) {
			MPI_Get(to, N, MPI_DOUBLE, 1, 0, N, MPI_DOUBLE, win);
			MPI_Win_flush(1, win);
			if (step >= 20)
				usleep((useconds_t)late * 1000);
		}
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Win_unlock_all(win);
	MPI_Win_free(&win);
	MPI_Finalize();
	free(to);
	return 0;
}
C
slow_ones() { # FLAVOUR MILLISECONDS
	new_out
	run_with $1 2 PROBE_STEP_MARKER=MPI_Barrier "$tmp/gets.$1" "$2"
	"$probe" report --json "$out" | python3 -c 'import json, sys; print(*(f["ranks"] for f in json.load(sys.stdin)["findings"] if f["kind"] == "slow"))'
}
for f in $flavours; do
	mpi_cc $f -O1 -o "$tmp/gets.$f" "$tmp/gets.c" || { fail "$f: the program is built"; continue; }
	is "$f: what one rank gets is measured in its time: it is not slow" "$(slow_ones $f 0)" ''
	is "$f: it is, where it computes longer as well" "$(slow_ones $f 200)" '[0]'
done
finish
