/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous averaging by push-sum: each rank gives half of what it has to any other, and takes whatever has come. */
#include "heldout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int n, received, *sent;
static double *mass, *inbox, weight = 1;

static void add_message(const double *message)
{
	for (int i = 0; i < n; i++)
		mass[i] += message[i];
	weight += message[n];
	received++;
}

static void take_whatever_came(void)
{
	MPI_Status s;
	int there = 1;

	for (;;) {
		MPI_Iprobe(MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &there, &s);
		if (!there)
			return;
		MPI_Recv(inbox, n + 1, MPI_DOUBLE, s.MPI_SOURCE, 21, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		add_message(inbox);
	}
}

/* All learn how many messages each rank gets in all, and take the rest. */
static void wait_for_rest(void)
{
	int *all = calloc((size_t)ranks * 2 + 8, sizeof(int));

	ALLREDUCE("sent", sent, all, ranks, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	while (received < all[rank]) {
		MPI_Recv(inbox, n + 1, MPI_DOUBLE, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
		add_message(inbox);
	}
	free(all);
}

int main(int argc, char **argv)
{
	MPI_Request request = MPI_REQUEST_NULL;
	double *outbox, error[8], worst[8];

	start_program(argc, argv);
	n = (int)get_option("size", 300);
	mass = make_array(n);
	inbox = make_array(n);
	outbox = make_array(n);
	sent = calloc((size_t)ranks * 2 + 8, sizeof(int));
	for (int i = 0; i < n; i++)
		mass[i] = 1 + draw();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		for (int turn = 0; turn < 2; turn++) {
			int to = (rank + 1 + (int)(draw() * (ranks - 1))) % ranks;

			/* A gradient of this rank's own. */
			for (int i = 0; i < n; i++)
				mass[i] += 0.01 * weight * (draw() - 0.5);
			PASS("gradient");
			MPI_Wait(&request, MPI_STATUS_IGNORE);
			for (int i = 0; i < n; i++)
				outbox[i] = mass[i] *= 0.5;
			outbox[n] = weight *= 0.5;
			ISEND("push", outbox, n + 1, MPI_DOUBLE, to, 21, MPI_COMM_WORLD, &request);
			sent[to]++;
			take_whatever_came();
		}
		if (step % 3 == 2)
			wait_for_rest();
		error[0] = fabs(mass[0] / weight - 1.5) + 1e-6 * draw();
		PASS("error");
		ALLREDUCE("error", error, worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		end_step();
	}
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	wait_for_rest();
	end_program();
	return 0;
}
