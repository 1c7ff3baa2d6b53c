/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of a NaN in a reduction: mpi_lost_nan. For each operation, type, count and rank that puts one NaN in a
 * line: operation, type, count, place of the NaN, that rank, and by rank whether the result has it (1) or not (0). mpi_lost_nan OPERATION COUNT RANK: seven
 * steps, of which the fifth has one; in each the ranks also sum what they make of the result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"

#define MOST 1001

static int rank, ranks;

static MPI_Op op_of(const char *name)
{
	return strcmp(name, "max") == 0 ? MPI_MAX : strcmp(name, "min") == 0 ? MPI_MIN : MPI_SUM;
}

static int reduce_one(const char *name, int wide, int count, int at, int from)
{
	static double in[MOST], out[MOST];
	static float fin[MOST], fout[MOST];

	for (int i = 0; i < count; i++)
		fin[i] = (float)(in[i] = 1 + rank + i % 3);
	if (rank == from)
		fin[at] = (float)(in[at] = NAN);
	if (wide)
		MPI_Allreduce(in, out, count, MPI_DOUBLE, op_of(name), MPI_COMM_WORLD);
	else
		MPI_Allreduce(fin, fout, count, MPI_FLOAT, op_of(name), MPI_COMM_WORLD);
	return wide ? isnan(out[at]) != 0 : isnan(fout[at]) != 0;
}

static void print_table(void)
{
	static const char *const names[] = {"max", "min", "sum"};
	static const int counts[][2] = {
		{1, 0}, {2, 0}, {2, 1}, {64, 0}, {64, 63}, {MOST, 0}, {MOST, 500}, {MOST, 1000}};
	int all[64];

	for (unsigned k = 0; k < 3; k++)
		for (int wide = 0; wide < 2; wide++)
			for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++)
				for (int from = 0; from < ranks; from++) {
					int have = reduce_one(
						names[k], wide, counts[c][0], counts[c][1], from);

					MPI_Gather(&have, 1, MPI_INT, all, 1, MPI_INT, 0,
						MPI_COMM_WORLD);
					if (rank)
						continue;
					printf("%s %s %d %d %d ", names[k],
						wide ? "float64" : "float32", counts[c][0],
						counts[c][1], from);
					for (int i = 0; i < ranks; i++)
						printf("%d", all[i]);
					printf("\n");
				}
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc == 1)
		print_table();
	for (int step = 0; argc == 4 && step < 7; step++) {
		static float in[MOST], out[MOST], sum[MOST];
		int count = atoi(argv[2]);

		for (int i = 0; i < count; i++)
			in[i] = (float)(1 + rank + i % 3) + 0.1234567f * (float)(step * step);
		if (step == 4 && rank == atoi(argv[3]))
			in[0] = NAN;
		MPI_Allreduce(in, out, count, MPI_FLOAT, op_of(argv[1]), MPI_COMM_WORLD);
		if (step == 4)
			printf("rank %d: %s\n", rank, isnan(out[0]) ? "NaN" : "none");
		/* What the program makes of it, which all ranks had alike so far. */
		for (int i = 0; i < count; i++)
			out[i] = out[i] > 0 ? out[i] : -1;
		MPI_Allreduce(out, sum, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		MPI_Pcontrol(2); /* the end of a step */
	}
	MPI_Finalize();
	return 0;
}
