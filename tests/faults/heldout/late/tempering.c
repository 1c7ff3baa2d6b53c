/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel tempering of a chain: neighbours compare energies and change configurations if a common number says so. */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BINS = 12, ROOM = 2 * BINS + 64 };

static int n;
static double *chain, *theirs, *outbox, betas[ROOM];

static double get_energy(const double *x)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		double d = x[i] - x[(i + 1) % n], q = x[i] * x[i] - 1;

		sum += 0.5 * d * d + 0.25 * q * q;
	}
	return sum;
}

static void sweep(double beta)
{
	for (int i = 0; i < n; i++) {
		double a = chain[(i + n - 1) % n], b = chain[(i + 1) % n], x = chain[i],
		       y = x + 1.2 * (draw() - 0.5);
		double before =
			(x - a) * (x - a) + (x - b) * (x - b) + 0.5 * (x * x - 1) * (x * x - 1);
		double now =
			(y - a) * (y - a) + (y - b) * (y - b) + 0.5 * (y * y - 1) * (y * y - 1);

		if (draw() < exp(-0.5 * beta * (now - before)))
			chain[i] = y;
	}
}

/* Returns 1 if the two have changed their configurations. */
static int change_with(int partner, double luck)
{
	double mine[80] = {get_energy(chain), betas[rank]}, other[80] = {0}, change;
	MPI_Request r = MPI_REQUEST_NULL;

	ISEND("energy", mine, 2, MPI_DOUBLE, partner, 71, MPI_COMM_WORLD, &r);
	MPI_Recv(other, 2, MPI_DOUBLE, partner, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	change = (mine[1] - other[1]) * (mine[0] - other[0]);
	if (!(luck < exp(change)))
		return 0;
	for (int i = 0; i < n; i++)
		outbox[i] = chain[i];
	PASS("change");
	ISEND("chain", outbox, n, MPI_DOUBLE, partner, 72, MPI_COMM_WORLD, &r);
	MPI_Recv(theirs, n, MPI_DOUBLE, partner, 72, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	for (int i = 0; i < n; i++)
		chain[i] = theirs[i];
	if (!(fabs(get_energy(chain) - other[0]) < 1e-9 * (1 + fabs(other[0]))))
		fprintf(stderr, "step %d: rank %d got another chain than rank %d has told of\n",
			step, rank, partner);
	return 1;
}

/* Every fourth step rank 0 moves the temperatures to where few have changed. */
static void adapt(const double *changed)
{
	for (int k = 1; rank == 0 && k < ranks; k++)
		betas[k] = betas[k - 1] * (changed[k % BINS] > 2 ? 0.97 : 0.99) - 0.001 * draw();
	CALL_("betas", rank == 0 ? betas : NULL, ranks, MPI_DOUBLE, MPI_OP_NULL, 0, -1,
		MPI_Bcast(betas, c.n, c.type, c.peer, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	double mine[ROOM] = {0}, all[ROOM] = {0}, energy[80] = {0}, lowest[80], mean[80];

	start_program(argc, argv);
	n = (int)get_option("size", 250);
	chain = make_array(n);
	theirs = make_array(n);
	outbox = make_array(n);
	for (int i = 0; i < n; i++)
		chain[i] = draw() - 0.5;
	for (int k = 0; k < ranks; k++)
		betas[k] = pow(0.97, k);
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		double luck[64], counted = 0;

		for (int k = 0; k < ranks; k++)
			luck[k] = draw_common();
		for (int i = 0; i < BINS; i++)
			mine[i] = 0;
		for (int turn = 0; turn < 4; turn++) {
			int low = rank - (rank + turn) % 2, partner = rank == low ? rank + 1 : low;

			PASS("sweep");
			sweep(betas[rank]);
			mine[(int)(fabs(get_energy(chain)) * 40 / n) % BINS]++;
			if (partner < 0 || partner >= ranks)
				continue;
			energy[1] += change_with(partner, luck[low]);
		}
		ALLREDUCE("histogram", mine, all, BINS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < BINS; i++)
			counted += all[i];
		if (counted != 4 * ranks)
			fprintf(stderr, "step %d: %g of %d energies are counted\n", step, counted,
				4 * ranks);
		energy[0] = get_energy(chain);
		REDUCE("lowest", energy, lowest, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
		ALLREDUCE("mean", energy, mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (step % 4 == 3)
			adapt(all);
		end_step();
	}
	end_program();
	return 0;
}
