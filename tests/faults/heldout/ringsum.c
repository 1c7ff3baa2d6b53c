/* SPDX-License-Identifier: Apache-2.0 */
/* A ring all-reduce by hand, in both directions at once: half of a gradient goes up, the other half goes down. */
#include "heldout.h"
#include <math.h>
#include <string.h>

static int n; /* numbers in a block; each direction has a block for each rank */
static double *inbox[2];

static double *get_block(double *half, int k)
{
	return half + (size_t)((k + 4 * ranks) % ranks) * (size_t)n;
}

/* Whichever message has come first is taken first. */
static void take_messages(MPI_Request *r, double *up, double *down, bool is_sum)
{
	for (int left = 2; left > 0; left--) {
		int k;
		double *block;

		MPI_Waitany(2, r, &k, MPI_STATUS_IGNORE);
		block = k ? down : up;
		for (int i = 0; i < n; i++)
			block[i] = inbox[k][i] + (is_sum ? block[i] : 0);
	}
}

static void sum_over_ring(double *up, double *down)
{
	int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
	MPI_Request in[2], out[2];

	for (int t = 0; t < ranks - 1; t++) {
		double *a = get_block(up, rank - t), *b = get_block(down, rank + t);

		out[0] = out[1] = MPI_REQUEST_NULL;
		MPI_Irecv(inbox[0], n, MPI_DOUBLE, previous, 31, MPI_COMM_WORLD, &in[0]);
		MPI_Irecv(inbox[1], n, MPI_DOUBLE, next, 32, MPI_COMM_WORLD, &in[1]);
		ISEND("up", a, n, MPI_DOUBLE, next, 31, MPI_COMM_WORLD, &out[0]);
		ISEND("down", b, n, MPI_DOUBLE, previous, 32, MPI_COMM_WORLD, &out[1]);
		take_messages(in, get_block(up, rank - t - 1), get_block(down, rank + t + 1), true);
		MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
	}
	for (int t = 0; t < ranks - 1; t++) {
		double *a = get_block(up, rank + 1 - t), *b = get_block(down, rank - 1 + t);

		out[0] = out[1] = MPI_REQUEST_NULL;
		MPI_Irecv(inbox[0], n, MPI_DOUBLE, previous, 33, MPI_COMM_WORLD, &in[0]);
		MPI_Irecv(inbox[1], n, MPI_DOUBLE, next, 34, MPI_COMM_WORLD, &in[1]);
		ISEND("up_copy", a, n, MPI_DOUBLE, next, 33, MPI_COMM_WORLD, &out[0]);
		ISEND("down_copy", b, n, MPI_DOUBLE, previous, 34, MPI_COMM_WORLD, &out[1]);
		take_messages(in, get_block(up, rank - t), get_block(down, rank + t), false);
		MPI_Waitall(2, out, MPI_STATUSES_IGNORE);
	}
}

int main(int argc, char **argv)
{
	double *weights, *gradient, loss[8], all_loss[8], norm[8], all_norm[8];
	int m;

	start_program(argc, argv);
	n = (int)get_option("size", 250) / ranks + 3;
	m = n * ranks * 2;
	weights = make_array(m);
	gradient = make_array(m);
	inbox[0] = make_array(n);
	inbox[1] = make_array(n);
	for (int i = 0; i < m; i++)
		weights[i] = 0.5 + draw_common();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		PASS("backward");
		loss[0] = 0;
		for (int i = 0; i < m; i++) {
			double target = 0.3 * sin(0.01 * i) + 0.2 * (draw() - 0.5);

			gradient[i] = weights[i] - target;
			loss[0] += gradient[i] * gradient[i] / m;
		}
		sum_over_ring(gradient, gradient + n * ranks);
		for (int i = 0; i < m; i++)
			weights[i] -= 0.1 / ranks * gradient[i];
		KEEP("weights", weights, m);
		ALLREDUCE("loss", loss, all_loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		norm[0] = 0;
		for (int i = 0; i < m; i++)
			norm[0] += weights[i] * weights[i];
		PASS("check");
		if (step % 3 == 2)
			ALLREDUCE("norm", norm, all_norm, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		end_step();
	}
	end_program();
	return 0;
}
