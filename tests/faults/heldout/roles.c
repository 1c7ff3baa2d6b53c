/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job in which one rank at a time keeps the others' checkpoints, in memory, and does not compute. The part goes round; after an
 * instability the workers go back to what the keeper has.
 */
#include "heldout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS_OF_A_KEEPER = 6, CHECKPOINT = 2 };

static int n;
static double *state, *kept[64];

static void update_state(MPI_Comm workers)
{
	double part[8] = {0}, whole[8];
	double *next = make_array(n);

	for (int turn = 0; turn < 20; turn++) {
		for (int i = 0; i < n; i++)
			next[i] = 0.5 * state[i] +
				  0.25 * (state[(i + 1) % n] + state[(i + n - 1) % n]);
		memcpy(state, next, (size_t)n * sizeof(double));
	}
	free(next);
	for (int i = 0; i < n; i++) {
		state[i] += 0.1 * (draw() - 0.5);
		part[0] += state[i] * state[i];
	}
	PASS("work");
	ALLREDUCE("norm", part, whole, 1, MPI_DOUBLE, MPI_SUM, workers);
}

/* Checkpoints come in any order. */
static void save(int keeper)
{
	if (rank != keeper) {
		SEND("save", state, n, MPI_DOUBLE, keeper, 51, MPI_COMM_WORLD);
		return;
	}
	for (int k = 0; k < ranks - 1; k++) {
		double *room = make_array(n);
		MPI_Status s;

		MPI_Recv(room, n, MPI_DOUBLE, MPI_ANY_SOURCE, 51, MPI_COMM_WORLD, &s);
		free(kept[s.MPI_SOURCE]);
		kept[s.MPI_SOURCE] = room;
	}
}

static void restore(int keeper)
{
	if (rank != keeper) {
		MPI_Recv(state, n, MPI_DOUBLE, keeper, 52, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	for (int k = 0; k < ranks; k++)
		if (k != keeper && kept[k])
			SEND("restore", kept[k], n, MPI_DOUBLE, k, 52, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI_Comm workers = MPI_COMM_NULL;
	int keeper = 0, before = -1;
	double sign[8], vote[8];

	start_program(argc, argv);
	n = (int)get_option("size", 500);
	state = make_array(n);
	for (int i = 0; i < n; i++)
		state[i] = 1 + draw();
	for (long turns = get_option("steps", 32); turns > 0; turns--) {
		keeper = step / TURNS_OF_A_KEEPER % ranks;
		if (keeper != before) {
			if (workers != MPI_COMM_NULL)
				MPI_Comm_free(&workers);
			MPI_Comm_split(
				MPI_COMM_WORLD, rank == keeper ? MPI_UNDEFINED : 0, rank, &workers);
			before = keeper;
			save(keeper);
		}
		if (rank != keeper)
			update_state(workers);
		else
			PASS("keeper");
		/* One step in seven is unstable on some rank. */
		sign[0] = draw_common() < 0.15 ? 2 + draw() : draw();
		ALLREDUCE("vote", sign, vote, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		if (vote[0] >= 2)
			restore(keeper);
		else if (step % CHECKPOINT == 1)
			save(keeper);
		end_step();
	}
	end_program();
	return 0;
}
