/* SPDX-License-Identifier: Apache-2.0 */
/* Two codes, an ocean and an air, each on ranks of its own with time steps of its own, coupled by an intercommunicator. */
#include "heldout.h"
#include <math.h>
#include <string.h>

static int n, own_rank, own_ranks;
static double *state, *forcing, *inbox[64];
static MPI_Comm own, other;

static void update_field(double dt)
{
	double left = state[n - 1];

	for (int i = 0; i < n; i++) {
		double here = state[i], right = state[(i + 1) % n];

		state[i] += dt * (left + right - 2 * here) + dt * 0.2 * forcing[i] +
			    0.01 * (draw() - 0.5);
		left = here;
	}
}

static void step_air(void)
{
	double wind[8], fastest[8];

	for (int turn = 0; turn < 4; turn++) {
		update_field(0.1);
		wind[0] = 0;
		for (int i = 0; i < n; i++)
			wind[0] = fmax(wind[0], fabs(state[i]));
		PASS("air");
		ALLREDUCE("wind", wind, fastest, 1, MPI_DOUBLE, MPI_MAX, own);
		/* A strong wind needs one more half step. */
		if (fastest[0] > 2.0)
			update_field(0.05);
	}
}

static void step_ocean(void)
{
	int left = (own_rank + own_ranks - 1) % own_ranks, right = (own_rank + 1) % own_ranks;
	double heat[8], sum[8], ghost[8] = {0};
	MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

	if (own_ranks > 1) {
		MPI_Irecv(ghost, 2, MPI_DOUBLE, left, 31, own, &r[0]);
		ISEND("current", state + n - 2, 2, MPI_DOUBLE, right, 31, own, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		state[0] += 0.05 * (ghost[1] - state[0]);
	}
	update_field(0.2);
	PASS("ocean");
	heat[0] = 0;
	for (int i = 0; i < n; i++)
		heat[0] += state[i];
	ALLREDUCE("heat", heat, sum, 1, MPI_DOUBLE, MPI_SUM, own);
}

/* Each rank has a partner in the other code; a code with more ranks has some that share one. */
static void copy_fluxes(int is_air, int others)
{
	MPI_Request r[64];
	int count = 0, partners = 0;

	for (int k = 0; k < 64; k++)
		r[k] = MPI_REQUEST_NULL;
	for (int k = own_rank % others; k < others; k += own_ranks, partners++)
		MPI_Irecv(inbox[partners], n, MPI_DOUBLE, k, is_air ? 42 : 41, other, &r[count++]);
	for (int k = own_rank % others; k < others; k += own_ranks)
		ISEND("flux", state, n, MPI_DOUBLE, k, is_air ? 41 : 42, other, &r[count++]);
	MPI_Waitall(count, r, MPI_STATUSES_IGNORE);
	for (int i = 0; i < n; i++) {
		forcing[i] = 0;
		for (int k = 0; k < partners; k++)
			forcing[i] += inbox[k][i] / partners;
	}
}

int main(int argc, char **argv)
{
	int is_air, others;
	double year[8], mean[8];

	start_program(argc, argv);
	n = (int)get_option("size", 200);
	state = make_array(n);
	forcing = make_array(n);
	for (int k = 0; k < ranks; k++)
		inbox[k] = make_array(n);
	is_air = rank < (ranks + 1) / 2;
	for (int i = 0; i < n; i++)
		state[i] = (is_air ? 1.5 : 0.5) + draw();
	MPI_Comm_split(MPI_COMM_WORLD, is_air, rank, &own);
	MPI_Comm_rank(own, &own_rank);
	MPI_Comm_size(own, &own_ranks);
	MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, is_air ? (ranks + 1) / 2 : 0, 5, &other);
	MPI_Comm_remote_size(other, &others);
	for (long turns = get_option("steps", 28); turns > 0; turns--) {
		if (is_air)
			step_air();
		else
			step_ocean();
		PASS("couple");
		copy_fluxes(is_air, others);
		year[0] = state[n / 2];
		if (step % 4 == 3)
			ALLREDUCE("year", year, mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		end_step();
	}
	MPI_Comm_free(&other);
	end_program();
	return 0;
}
