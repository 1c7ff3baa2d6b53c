/* SPDX-License-Identifier: Apache-2.0 */
/* k-means on batches: sums of all ranks give the centres; an empty cluster gets a new one from the rank with the farthest point. */
#include "heldout.h"
#include <math.h>
#include <string.h>

enum { K = 12, DIM = 8 };

static int points;
static double *data, centres[K * DIM * 2], sums[K * DIM * 2], all_sums[K * DIM * 2];
static double farthest[DIM * 2], far_distance;

static void make_points(void)
{
	for (int i = 0; i < points; i++)
		for (int d = 0; d < DIM; d++)
			data[i * DIM + d] = draw() + (i % 9) * (d % 3 ? 1.5 : -0.5);
}

static double assign(double *counts)
{
	double inertia = 0;

	far_distance = 0;
	memset(sums, 0, sizeof(sums));
	memset(counts, 0, K * sizeof(*counts));
	for (int i = 0; i < points; i++) {
		double best = INFINITY;
		int nearest = 0;

		for (int k = 0; k < K; k++) {
			double distance = 0;

			for (int d = 0; d < DIM; d++)
				distance += pow(data[i * DIM + d] - centres[k * DIM + d], 2);
			if (distance < best) {
				best = distance;
				nearest = k;
			}
		}
		for (int d = 0; d < DIM; d++)
			sums[nearest * DIM + d] += data[i * DIM + d];
		counts[nearest]++;
		inertia += best;
		if (best > far_distance) {
			far_distance = best;
			memcpy(farthest, data + (size_t)i * DIM, sizeof(farthest) / 2);
		}
	}
	return inertia;
}

/* The rank that has the point farthest from all centres gives it. */
static void replace_empty(int k)
{
	double mine[8] = {far_distance}, all[64 * 2] = {0};
	int owner = 0;

	ALLGATHER("distances", mine, 1, MPI_DOUBLE, all, MPI_COMM_WORLD);
	for (int i = 0; i < ranks; i++)
		if (all[i] > all[owner])
			owner = i;
	BCAST("new_centre", farthest, DIM, MPI_DOUBLE, owner, MPI_COMM_WORLD);
	memcpy(centres + (size_t)k * DIM, farthest, DIM * sizeof(double));
}

int main(int argc, char **argv)
{
	double counts[K * 2 + 64], all_counts[K * 2 + 64], inertia[8], total[8], norm[8], low[8];
	MPI_Comm world = MPI_COMM_WORLD;

	start_program(argc, argv);
	points = (int)get_option("size", 300);
	data = make_array(points * DIM);
	make_points();
	for (int i = 0; i < K * DIM; i++)
		centres[i] = 6 * draw_common();
	for (long n = get_option("steps", 30); n > 0; n--) {
		int swapped;

		inertia[0] = assign(counts);
		PASS("assign");
		swapped = SWAP("sums_counts");
		if (!swapped)
			ALLREDUCE("sums", sums, all_sums, K * DIM, MPI_DOUBLE, MPI_SUM, world);

		ALLREDUCE("counts", counts, all_counts, K, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (swapped)
			ALLREDUCE("sums", sums, all_sums, K * DIM, MPI_DOUBLE, MPI_SUM, world);
		for (int k = 0; k < K; k++)
			if (all_counts[k] == 0)
				replace_empty(k);
			else
				for (int d = 0; d < DIM; d++)
					centres[k * DIM + d] =
						all_sums[k * DIM + d] / all_counts[k];
		KEEP("centres", centres, K * DIM);
		norm[0] = 0;
		for (int i = 0; i < K * DIM; i++)
			norm[0] += centres[i] * centres[i];
		/* All ranks must have the same centres. */
		ALLREDUCE("agree", norm, low, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
		PASS("report");
		REDUCE("inertia", inertia, total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (step % 2)
			make_points();
		end_step();
	}
	end_program();
	return 0;
}
