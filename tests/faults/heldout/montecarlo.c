/* SPDX-License-Identifier: Apache-2.0 */
/* Particles through a slab: ranks take batches from a counter in a window, and tallies are summed after each generation. */
#include "heldout.h"
#include <math.h>
#include <string.h>

enum { BINS = 32 };

static double source = 1, absorbed[BINS * 2 + 64], sum[BINS * 2 + 64];

/* Follows n particles; returns how many collisions there were. */
static long follow(int n)
{
	long collisions = 0;

	for (int i = 0; i < n; i++) {
		double z = 0, weight = source, up = draw();

		while (weight > 1e-3) {
			z += -log(1 - draw()) * (2 * up - 1) * 4;
			if (z < 0 || z >= BINS)
				break;
			absorbed[(int)z] += weight * 0.3;
			weight *= 0.7;
			up = draw();
			collisions++;
		}
	}
	return collisions;
}

int main(int argc, char **argv)
{
	double hits[8], *all, next[8];
	long *counter;
	MPI_Win window;
	int batches, size;

	start_program(argc, argv);
	size = (int)get_option("size", 400);
	all = make_array(ranks);
	MPI_Win_allocate(
		sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
	batches = 4 * ranks;
	for (long n = get_option("steps", 26); n > 0; n--) {
		long one = 1, taken = 0, collisions = 0;

		if (rank == 0) {
			MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
			*counter = 0;
			MPI_Win_unlock(0, window);
		}
		BARRIER("start", MPI_COMM_WORLD);
		memset(absorbed, 0, sizeof(absorbed));
		for (;;) {
			MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
			MPI_Fetch_and_op(&one, &taken, MPI_LONG, 0, 0, MPI_SUM, window);
			MPI_Win_unlock(0, window);
			if (taken >= batches)
				break;
			collisions += follow(size / 2 + (int)(draw() * size));
		}
		/* A generation in which a rank came too late for any batch still has its part. */
		collisions += follow(size / 8);
		PASS("tally");
		ALLREDUCE("tally", absorbed, sum, BINS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		hits[0] = (double)collisions;
		GATHER("hits", hits, 1, MPI_DOUBLE, all, 0, MPI_COMM_WORLD);
		if (rank == 0) {
			next[0] = 0;
			for (int k = 0; k < ranks; k++)
				next[0] += all[k];
			next[0] = 1 + 0.1 * sin(next[0]);
		}
		PASS("control");
		BCAST("source", next, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		source = next[0];
		end_step();
	}
	MPI_Win_free(&window);
	end_program();
	return 0;
}
