/* SPDX-License-Identifier: Apache-2.0 */
/* Particles that move between the cells of a ring of ranks, by neighbourhood collectives; settings come by a broadcast in flight. */
#include "heldout.h"
#include <math.h>
#include <string.h>

enum { MOST = 8000 };

static double *x, *speed, *out, *in;
static int count;
static MPI_Comm ring;

/* To the left first, then to the right: two doubles a particle. */
static void migrate(void)
{
	int sizes[2] = {0, 0}, sizes_in[2], at[2] = {0, 0}, at_in[2], kept = 0;
	double *right = out + MOST;

	for (int i = 0; i < count; i++) {
		double *to = x[i] < 0 ? out + sizes[0] : x[i] >= 1 ? right + sizes[1] : NULL;

		if (!to) {
			x[kept] = x[i];
			speed[kept++] = speed[i];
			continue;
		}
		to[0] = x[i] < 0 ? x[i] + 1 : x[i] - 1;
		to[1] = speed[i];
		sizes[x[i] >= 1] += 2;
	}
	memmove(out + sizes[0], right, (size_t)sizes[1] * sizeof(double));
	at[1] = sizes[0];
	MPI_Neighbor_alltoall(sizes, 1, MPI_INT, sizes_in, 1, MPI_INT, ring);
	at_in[0] = 0;
	at_in[1] = sizes_in[0];
	PASS("migrate");
	CALL_("migrate", out, sizes[0] + sizes[1], MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Neighbor_alltoallv(out, sizes, at, c.type, in, sizes_in, at_in, c.type, ring));
	count = kept;
	for (int i = 0; i < sizes_in[0] + sizes_in[1] && count < MOST / 4; i += 2) {
		x[count] = in[i];
		speed[count++] = in[i + 1];
	}
}

int main(int argc, char **argv)
{
	double settings[8] = {0}, energy[8], total[8], density[8], around[16];
	int size, periodic = 1;

	start_program(argc, argv);
	x = make_array(MOST);
	speed = make_array(MOST);
	out = make_array(MOST);
	in = make_array(MOST);
	size = (int)get_option("size", 300);
	MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring);
	for (count = 0; count < size; count++) {
		x[count] = draw();
		speed[count] = draw() - 0.4;
	}
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		MPI_Request w = MPI_REQUEST_NULL;
		int root = step % ranks;

		if (rank == root)
			settings[0] = 0.05 + 0.02 * draw();
		IBCAST("settings", settings, 1, MPI_DOUBLE, root, MPI_COMM_WORLD, &w);
		density[0] = count + 0.001 * draw();
		CALL_("density", density, 1, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
			MPI_Neighbor_allgather(density, c.n, c.type, around, c.n, c.type, ring));
		PASS("force");
		for (int i = 0; i < count; i++)
			speed[i] += 1e-5 * (around[1] - around[0]) - 0.01 * sin(2 * M_PI * x[i]);
		MPI_Wait(&w, MPI_STATUS_IGNORE);
		energy[0] = 0;
		for (int i = 0; i < count; i++) {
			x[i] = x[i] + fmax(-0.9, fmin(0.9, settings[0] * speed[i]));
			energy[0] += speed[i] * speed[i];
		}
		migrate();
		energy[1] = count;
		ALLREDUCE("energy", energy, total, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		end_step();
	}
	MPI_Comm_free(&ring);
	end_program();
	return 0;
}
