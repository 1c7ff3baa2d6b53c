/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank that reads data, and trainers: batches of changing size go to all, and gradients are summed in two levels, within a node and
 * between the nodes' first ranks.
 */
#include "heldout.h"
#include <math.h>
#include <string.h>

enum { PARAMETERS = 96, SEEDS = 16 };

static MPI_Comm trainers = MPI_COMM_NULL, node = MPI_COMM_NULL, heads = MPI_COMM_NULL;
static double gradient[PARAMETERS * 2 + 64], part[PARAMETERS * 2 + 64], sum[PARAMETERS * 2 + 64];
static double weights[PARAMETERS * 2 + 64];

/* A machine counts as two nodes if each has two trainers. */
static void make_levels(void)
{
	MPI_Comm machine;
	int me, n;

	MPI_Comm_split(MPI_COMM_WORLD, rank ? 0 : MPI_UNDEFINED, rank, &trainers);
	if (!rank)
		return;
	MPI_Comm_split_type(trainers, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
	MPI_Comm_rank(machine, &me);
	MPI_Comm_size(machine, &n);
	MPI_Comm_split(machine, n < 4 ? 0 : me * 2 / n, me, &node);
	MPI_Comm_free(&machine);
	MPI_Comm_rank(node, &me);
	if (n >= 4)
		MPI_Comm_split(trainers, me ? MPI_UNDEFINED : 0, rank, &heads);
}

static void sum_gradients(void)
{
	REDUCE("in_node", gradient, part, PARAMETERS, MPI_DOUBLE, MPI_SUM, 0, node);
	if (heads != MPI_COMM_NULL)
		ALLREDUCE("heads", part, sum, PARAMETERS, MPI_DOUBLE, MPI_SUM, heads);
	else
		memcpy(sum, part, sizeof(sum));
	BCAST("spread", sum, PARAMETERS, MPI_DOUBLE, 0, node);
}

static void train(const double *batch, int n, const double *seeds, double *loss)
{
	loss[0] = 0;
	for (int k = 0; k < PARAMETERS; k++)
		gradient[k] = 0;
	for (int i = rank; i < n; i += ranks) {
		int k = (i * 7) % PARAMETERS;
		double error = weights[k] - batch[i] + 0.01 * seeds[i % SEEDS];

		gradient[k] += error;
		loss[0] += error * error;
	}
	for (int k = 0; k < PARAMETERS; k++)
		gradient[k] += 0.001 * (draw() + weights[k]);
}

int main(int argc, char **argv)
{
	double *batch, *seeds, mine[SEEDS * 2 + 64] = {0}, loss[8] = {0}, all_loss[8];
	int size, n = 0;

	start_program(argc, argv);
	size = (int)get_option("size", 250);
	batch = make_array(4 * size);
	seeds = make_array(ranks * SEEDS);
	make_levels();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		double *sent = rank ? NULL : batch, *dealt = rank ? NULL : seeds;

		if (!rank) {
			PASS("load");
			n = size + (int)(draw() * 2 * size);
			for (int i = 0; i < n; i++)
				batch[i] = draw() + 0.5 * sin(i);
			for (int i = 0; i < ranks * SEEDS; i++)
				seeds[i] = draw();
		}
		BCAST("amount", &n, 1, MPI_INT, 0, MPI_COMM_WORLD);
		CALL_("batch", sent, n, MPI_DOUBLE, MPI_OP_NULL, 0, -1,
			MPI_Bcast(batch, c.n, c.type, c.peer, MPI_COMM_WORLD));
		SCATTER("deal", dealt, seeds, SEEDS, MPI_DOUBLE, mine, 0, MPI_COMM_WORLD);
		if (rank) {
			PASS("train");
			train(batch, n, mine, loss);
			sum_gradients();
			for (int k = 0; k < PARAMETERS; k++)
				weights[k] -= 0.02 * sum[k];
			if (step % 4 == 3) {
				PASS("evaluate");
				ALLREDUCE("score", weights, part, 8, MPI_DOUBLE, MPI_MAX, trainers);
			}
		}
		REDUCE("loss", loss, all_loss, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		end_step();
	}
	end_program();
	return 0;
}
