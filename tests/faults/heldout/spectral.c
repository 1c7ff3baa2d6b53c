/* SPDX-License-Identifier: Apache-2.0 */
/* A spectral solver: transposes by all-to-all between transforms of rows; groups of ranks that change each step average a filter. */
#include "heldout.h"
#include <complex.h>
#include <math.h>
#include <string.h>

static int side, rows;
static double *field, *packed, *unpacked;

/* A transform of each row, real to real (Hartley), so that twice is the identity up to 1/side. */
static void compute_transform(void)
{
	double line[512];

	for (int i = 0; i < rows; i++) {
		double *f = field + (size_t)i * side;

		for (int k = 0; k < side; k++) {
			line[k] = 0;
			for (int j = 0; j < side; j++)
				line[k] += f[j] * (cos(2 * M_PI * j * k / side) +
							  sin(2 * M_PI * j * k / side));
		}
		for (int k = 0; k < side; k++)
			f[k] = line[k] / sqrt(side);
	}
}

static void pack(void)
{
	for (int to = 0; to < ranks; to++)
		for (int i = 0; i < rows; i++)
			memcpy(packed + ((size_t)to * rows + i) * rows,
				field + (size_t)i * side + (size_t)to * rows,
				(size_t)rows * sizeof(double));
}

static void unpack(void)
{
	for (int from = 0; from < ranks; from++)
		for (int i = 0; i < rows; i++)
			for (int j = 0; j < rows; j++)
				field[(size_t)j * side + (size_t)from * rows + i] =
					unpacked[((size_t)from * rows + i) * rows + j];
}

/* Waves lose energy by their length; the filter is averaged over a group that is another one in each step. */
static void update_waves(double dt)
{
	MPI_Comm group;
	double share[8], mean[8];
	int members;

	MPI_Comm_split(MPI_COMM_WORLD, (rank + step) / 2 % 2, rank, &group);
	MPI_Comm_size(group, &members);
	share[0] = 0;
	for (int i = 0; i < rows * side; i++)
		share[0] += fabs(field[i]);
	if (members > 1)
		ALLREDUCE("filter", share, mean, 1, MPI_DOUBLE, MPI_SUM, group);
	else
		mean[0] = share[0];
	MPI_Comm_free(&group);
	for (int i = 0; i < rows; i++)
		for (int k = 0; k < side; k++)
			field[(size_t)i * side + k] *=
				exp(-dt * (k % 17) / (1 + 1e-3 * mean[0] / members));
}

int main(int argc, char **argv)
{
	double dt[8] = {0}, energy[8], total[8];

	start_program(argc, argv);
	rows = (int)get_option("size", 16);
	side = rows * ranks;
	field = make_array(rows * side);
	packed = make_array(rows * side);
	unpacked = make_array(rows * side);
	for (int i = 0; i < rows * side; i++)
		field[i] = draw() - 0.5;
	for (long n = get_option("steps", 30); n > 0; n--) {
		if (rank == 0)
			dt[0] = 0.01 * (1 + draw());
		BCAST("dt", dt, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		compute_transform();
		PASS("transform");
		pack();
		ALLTOALL("there", packed, rows * rows, MPI_DOUBLE, unpacked, MPI_COMM_WORLD);
		unpack();
		compute_transform();
		update_waves(dt[0]);
		PASS("filter");
		pack();
		ALLTOALL("back", packed, rows * rows, MPI_DOUBLE, unpacked, MPI_COMM_WORLD);
		unpack();
		energy[0] = 0;
		for (int i = 0; i < rows * side; i++) {
			field[i] += 0.1 * (draw() - 0.5);
			energy[0] += field[i] * field[i];
		}
		REDUCE("energy", energy, total, 1, MPI_DOUBLE, MPI_SUM, ranks - 1, MPI_COMM_WORLD);
		end_step();
	}
	end_program();
	return 0;
}
