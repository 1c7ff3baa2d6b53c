/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Neutron transport on a grid of ranks. Eight octants sweep through it, each from a corner, one block of planes after the other. A
 * block is computed once both its faces are there: MPI_Testsome finds them while there is other work, MPI_Waitsome then. The source
 * is iterated until the flux changes little. Particles produced must equal those absorbed or leaked.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANGLES = 3, BLOCKS = 3, DEEP = 2, PLANES = BLOCKS * DEEP, BINS = 12, ROOM = 2 * BINS + 64 };

static const double along[ANGLES] = {0.9, 0.5, 0.3}, across[ANGLES] = {0.3, 0.7, 0.5},
		    upward[ANGLES] = {0.3, 0.5, 0.8}, weight = 1.0 / (8 * ANGLES);

static MPI_Comm own;
static int side, cells, west, east, south, north, column, row, edited;
static double *flux, *before, *source, *floor_, *in_x[BLOCKS], *in_y[BLOCKS], *out_x[BLOCKS],
	*out_y[BLOCKS], rates[ROOM], leaked, absorbed;
static MPI_Request sends[2 * BLOCKS];

static int get_cell(int x, int y, int z)
{
	return (z * side + y) * side + x;
}

static void init_grid(void)
{
	int dims[2] = {0, 0}, wraps[2] = {0, 0}, place[2];

	MPI_Dims_create(ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wraps, 0, &own);
	MPI_Cart_coords(own, rank, 2, place);
	column = place[0];
	row = place[1];
	MPI_Cart_shift(own, 0, 1, &west, &east);
	MPI_Cart_shift(own, 1, 1, &south, &north);
	cells = side * side * PLANES;
	flux = make_array(cells);
	before = make_array(cells);
	source = make_array(cells);
	floor_ = make_array(side * side * ANGLES);
	for (int k = 0; k < BLOCKS; k++) {
		in_x[k] = make_array(side * DEEP * ANGLES);
		in_y[k] = make_array(side * DEEP * ANGLES);
		out_x[k] = make_array(side * DEEP * ANGLES);
		out_y[k] = make_array(side * DEEP * ANGLES);
		sends[k] = sends[BLOCKS + k] = MPI_REQUEST_NULL;
	}
}

/* Two materials in slabs; their rates are in rates[0] to [3]: what a cell takes out, and the part that is scattered. */
static double get_total(int x)
{
	return rates[(column * side + x) / 3 % 2];
}

/* A lamp that moves through the grid, and what was scattered. */
static void compute_source(double x0, double y0)
{
	for (int z = 0; z < PLANES; z++)
		for (int y = 0; y < side; y++)
			for (int x = 0; x < side; x++) {
				double dx = column * side + x - x0, dy = row * side + y - y0;
				int i = get_cell(x, y, z);

				source[i] = rates[4] * exp(-0.1 * (dx * dx + dy * dy)) + 0.01 +
					    rates[2 + (column * side + x) / 3 % 2] * before[i];
			}
}

/* The next plane of the flux that the sweep begins with: work for the time in which faces are under way. */
static void add_plane(void)
{
	for (int i = edited * side * side; i < (edited + 1) * side * side; i++)
		absorbed += rates[5] * before[i] * before[i];
	edited++;
}

/* A block's planes: from the faces that came in to those that go out. */
static void compute_block(int octant, int block)
{
	double *fx = in_x[block], *fy = in_y[block];

	for (int d = 0; d < DEEP; d++)
		for (int j = 0; j < side; j++)
			for (int i = 0; i < side; i++) {
				int x = octant & 1 ? side - 1 - i : i;
				int y = octant & 2 ? side - 1 - j : j;
				int z = block * DEEP + d;
				int at = get_cell(x, y, octant & 4 ? PLANES - 1 - z : z);

				for (int a = 0; a < ANGLES; a++) {
					double *u = fx + (d * side + y) * ANGLES + a;
					double *v = fy + (d * side + x) * ANGLES + a;
					double *w = floor_ + (y * side + x) * ANGLES + a;
					double all =
						get_total(x) + along[a] + across[a] + upward[a];

					*u = (source[at] + along[a] * *u + across[a] * *v +
						     upward[a] * *w) /
					     all;
					*v = *w = *u;
					flux[at] += weight * *u;
				}
			}
	memcpy(out_x[block], fx, (size_t)(side * DEEP * ANGLES) * sizeof(double));
	memcpy(out_y[block], fy, (size_t)(side * DEEP * ANGLES) * sizeof(double));
}

static void add_leak(const double *face, const double *cosines, int size)
{
	for (int i = 0; i < size; i++)
		leaked += weight * cosines[i % ANGLES] * face[i];
}

/* Returns how many of a block's two faces are still to come. */
static int start_faces(int block, int from_x, int from_y, MPI_Request *in)
{
	int n = side * DEEP * ANGLES;

	memset(in_x[block], 0, (size_t)n * sizeof(double));
	memset(in_y[block], 0, (size_t)n * sizeof(double));
	in[0] = in[BLOCKS] = MPI_REQUEST_NULL;
	if (from_x != MPI_PROC_NULL)
		MPI_Irecv(in_x[block], n, MPI_DOUBLE, from_x, 81, own, &in[0]);
	if (from_y != MPI_PROC_NULL)
		MPI_Irecv(in_y[block], n, MPI_DOUBLE, from_y, 82, own, &in[BLOCKS]);
	return (from_x != MPI_PROC_NULL) + (from_y != MPI_PROC_NULL);
}

static void emit_faces(int k, int to_x, int to_y)
{
	int n = side * DEEP * ANGLES;

	if (to_x == MPI_PROC_NULL)
		add_leak(out_x[k], along, n);
	else
		ISEND("face_x", out_x[k], n, MPI_DOUBLE, to_x, 81, own, &sends[k]);
	if (to_y == MPI_PROC_NULL)
		add_leak(out_y[k], across, n);
	else
		ISEND("face_y", out_y[k], n, MPI_DOUBLE, to_y, 82, own, &sends[BLOCKS + k]);
}

static void compute_octant(int octant)
{
	int from_x = octant & 1 ? east : west, to_x = octant & 1 ? west : east;
	int from_y = octant & 2 ? north : south, to_y = octant & 2 ? south : north;
	int missing[BLOCKS], which[2 * BLOCKS], count;
	MPI_Request in[2 * BLOCKS];

	memset(floor_, 0, (size_t)(side * side * ANGLES) * sizeof(double));
	for (int k = 0; k < BLOCKS; k++)
		missing[k] = start_faces(k, from_x, from_y, in + k);
	MPI_Waitall(2 * BLOCKS, sends, MPI_STATUSES_IGNORE);
	for (int done = 0; done < BLOCKS;) {
		if (!missing[done]) {
			compute_block(octant, done);
			emit_faces(done, to_x, to_y);
			done++;
			continue;
		}
		if (edited < PLANES) {
			add_plane();
			MPI_Testsome(2 * BLOCKS, in, &count, which, MPI_STATUSES_IGNORE);
		} else {
			MPI_Waitsome(2 * BLOCKS, in, &count, which, MPI_STATUSES_IGNORE);
		}
		for (int i = 0; i < count; i++)
			missing[which[i] % BLOCKS]--;
	}
	add_leak(floor_, upward, side * side * ANGLES);
}

/* Sweeps until the flux changes little. Returns the sweeps. */
static int compute_flux(double x0, double y0)
{
	double change[8] = {0}, most[8] = {1};
	int turns = 0;

	while (most[0] > 0.02 && turns++ < 9) {
		memcpy(before, flux, (size_t)cells * sizeof(double));
		memset(flux, 0, (size_t)cells * sizeof(double));
		leaked = absorbed = change[0] = 0;
		edited = 0;
		PASS("source");
		compute_source(x0, y0);
		PASS("sweep");
		for (int octant = 0; octant < 8; octant++)
			compute_octant(octant);
		while (edited < PLANES)
			add_plane();
		for (int i = 0; i < cells; i++)
			change[0] = fmax(change[0], fabs(flux[i] - before[i]) / flux[i]);
		ALLREDUCE("change", change, most, 1, MPI_DOUBLE, MPI_MAX, own);
	}
	return turns;
}

static void compute_moments(double *moments, double *peak)
{
	memset(moments, 0, BINS * sizeof(double));
	for (int i = 0; i < cells; i++) {
		moments[i % BINS] += flux[i] * (1 + i % 3);
		peak[0] = fmax(peak[0], flux[i]);
	}
}

/* What was produced, what cells took out, what left the grid. */
static void compute_balance(double *sums)
{
	sums[0] = sums[1] = 0;
	sums[2] = leaked;
	for (int i = 0; i < cells; i++) {
		sums[0] += source[i];
		sums[1] += get_total(i % side) * flux[i];
	}
}

int main(int argc, char **argv)
{
	double moments[ROOM] = {0}, total[ROOM] = {0}, peak[8] = {0}, top[8] = {0}, sums[8] = {0},
	       all[8] = {0}, sweeps = 0;

	start_program(argc, argv);
	side = 3 + (int)get_option("size", 250) / 100;
	init_grid();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		double x0 = draw_common() * 2 * side, y0 = draw_common() * 2 * side;
		int swapped;

		/* The lamp stays where it is, but with each third step. */
		if (step % 3)
			x0 = y0 = side;
		for (int k = 0; rank == 0 && k < 2; k++) {
			rates[k] = 0.5 + 0.5 * k + 0.05 * draw();
			rates[2 + k] = rates[k] * (0.5 - 0.2 * k);
			rates[4 + k] = 1 + total[0] / (1 + total[0]) * draw();
		}
		BCAST("rates", rates, 6, MPI_DOUBLE, 0, own);
		sweeps += compute_flux(x0, y0);
		peak[0] = 0;
		compute_moments(moments, peak);
		swapped = SWAP("moments_peak");
		if (!swapped)
			ALLREDUCE("moments", moments, total, BINS, MPI_DOUBLE, MPI_SUM, own);

		ALLREDUCE("peak", peak, top, 1, MPI_DOUBLE, MPI_MAX, own);
		if (swapped)
			ALLREDUCE("moments", moments, total, BINS, MPI_DOUBLE, MPI_SUM, own);
		compute_balance(sums);
		REDUCE("balance", sums, all, 3, MPI_DOUBLE, MPI_SUM, 0, own);
		if (!rank && !(fabs(all[0] - all[1] - all[2]) < 1e-9 * all[0]))
			fprintf(stderr, "step %d: %g produced, %g taken, %g leaked\n", step, all[0],
				all[1], all[2]);
		end_step();
	}
	if (!rank)
		printf("result %.17g %.17g %g\n", total[0], top[0], sweeps);
	MPI_Waitall(2 * BLOCKS, sends, MPI_STATUSES_IGNORE);
	MPI_Comm_free(&own);
	end_program();
	return 0;
}
