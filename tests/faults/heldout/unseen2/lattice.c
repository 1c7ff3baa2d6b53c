/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow through packed beads by the lattice Boltzmann method, in a periodic box on a Cartesian grid of ranks. Faces are packed by
 * population, one dimension after the other, so that edges need no messages of their own. The sums of a step are in flight until the
 * next step needs them: a controller then changes the pressure until the flow is as fast as wanted.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 19, CROSSING = 5, BEADS = 7, SUMS = 6, MAX_RANKS = 64 };

struct bead {
	double centre[3], radius;
};

static const double relaxation = 0.9, wanted_speed = 0.012;
static int directions[DIRECTIONS][3], opposites[DIRECTIONS];
static double weights[DIRECTIONS];
static struct bead beads[BEADS];
static MPI_Comm grid, line, plane;
static int grid_rank, shape[3], coords[3], below[3], above[3];
/* Cells of the box, cells of this rank and the first of them. */
static int box[3], size[3], origin[3];
static double *populations, *streamed, *outbox[2], *inbox[2];
static bool *is_solid;

/* The first ranks of a dimension have one cell more if cells remain. */
static int find_block_origin(int dimension, int coord)
{
	int rest = box[dimension] % shape[dimension];

	return coord * (box[dimension] / shape[dimension]) + (coord < rest ? coord : rest);
}

static int find_size(int dimension, int coord)
{
	return find_block_origin(dimension, coord + 1) - find_block_origin(dimension, coord);
}

static void init_grid(void)
{
	int periods[3] = {1, 1, 1}, is_kept[3] = {1, 0, 0}, is_plane[3] = {0, 1, 1};

	MPI_Dims_create(ranks, 3, shape);
	MPI_Cart_create(MPI_COMM_WORLD, 3, shape, periods, 1, &grid);
	MPI_Comm_rank(grid, &grid_rank);
	MPI_Cart_coords(grid, grid_rank, 3, coords);
	for (int d = 0; d < 3; d++) {
		MPI_Cart_shift(grid, d, 1, &below[d], &above[d]);
		origin[d] = find_block_origin(d, coords[d]);
		size[d] = find_size(d, coords[d]);
	}
	MPI_Cart_sub(grid, is_kept, &line);
	MPI_Cart_sub(grid, is_plane, &plane);
}

static void init_directions(void)
{
	int count = 0;

	for (int i = 0; i < 27; i++) {
		int e[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
		int square = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];

		if (square > 2)
			continue;
		memcpy(directions[count], e, sizeof(e));
		weights[count++] = square == 0 ? 1. / 3 : square == 1 ? 1. / 18 : 1. / 36;
	}
	/* The 27 directions, and so these, are symmetric around the one in the middle. */
	for (int i = 0; i < DIRECTIONS; i++)
		opposites[i] = DIRECTIONS - 1 - i;
}

/* x, y, z with ghosts: from 0 to size + 1. */
static int get_site_index(int x, int y, int z)
{
	return (x * (size[1] + 2) + y) * (size[2] + 2) + z;
}

static int count_sites(void)
{
	return (size[0] + 2) * (size[1] + 2) * (size[2] + 2);
}

static double *get_populations(double *values, int direction)
{
	return values + (size_t)direction * (size_t)count_sites();
}

static bool is_in_bead(const int *cell, const struct bead *bead)
{
	double square = 0;

	for (int d = 0; d < 3; d++) {
		double offset = fabs(cell[d] + 0.5 - bead->centre[d]);

		square += pow(fmin(offset, box[d] - offset), 2);
	}
	return square < bead->radius * bead->radius;
}

static void init_solid(void)
{
	for (int i = 0; i < BEADS; i++) {
		for (int d = 0; d < 3; d++)
			beads[i].centre[d] = box[d] * draw_common();
		beads[i].radius = box[1] * (0.12 + 0.1 * draw_common());
	}
	for (int x = 0; x < size[0] + 2; x++)
		for (int y = 0; y < size[1] + 2; y++)
			for (int z = 0; z < size[2] + 2; z++) {
				int cell[3] = {(origin[0] + x - 1 + box[0]) % box[0],
					(origin[1] + y - 1 + box[1]) % box[1],
					(origin[2] + z - 1 + box[2]) % box[2]};

				for (int i = 0; i < BEADS; i++)
					is_solid[get_site_index(x, y, z)] |=
						is_in_bead(cell, &beads[i]);
			}
}

static void init_fields(void)
{
	int widest = 0;

	for (int d = 0; d < 3; d++) {
		int face = count_sites() / (size[d] + 2);

		widest = face > widest ? face : widest;
	}
	populations = make_array(DIRECTIONS * count_sites());
	streamed = make_array(DIRECTIONS * count_sites());
	is_solid = calloc((size_t)count_sites(), sizeof(bool));
	for (int i = 0; i < 2; i++) {
		outbox[i] = make_array(CROSSING * widest);
		inbox[i] = make_array(CROSSING * widest);
	}
	init_solid();
	for (int q = 0; q < DIRECTIONS; q++)
		for (int i = 0; i < count_sites(); i++)
			if (!is_solid[i])
				get_populations(populations, q)[i] =
					weights[q] * (1 + 0.01 * (draw() - 0.5));
}

static double sum_populations(const double *values, int place, double *momentum)
{
	double density = 0;

	memset(momentum, 0, 3 * sizeof(double));
	for (int q = 0; q < DIRECTIONS; q++) {
		double f = values[(size_t)q * (size_t)count_sites() + (size_t)place];

		density += f;
		for (int d = 0; d < 3; d++)
			momentum[d] += f * directions[q][d];
	}
	return density;
}

static void collide_cell(int place, double force)
{
	double momentum[3], density = sum_populations(populations, place, momentum), square = 0;

	for (int d = 0; d < 3; d++) {
		momentum[d] /= density;
		square += momentum[d] * momentum[d];
	}
	for (int q = 0; q < DIRECTIONS; q++) {
		const int *e = directions[q];
		double *f = get_populations(populations, q) + place;
		double along = e[0] * momentum[0] + e[1] * momentum[1] + e[2] * momentum[2];
		double balance =
			weights[q] * density * (1 + 3 * along + 4.5 * along * along - 1.5 * square);

		*f += relaxation * (balance - *f) + 3 * weights[q] * density * force * e[0];
	}
}

static void collide(double force)
{
	for (int x = 1; x <= size[0]; x++)
		for (int y = 1; y <= size[1]; y++)
			for (int z = 1; z <= size[2]; z++)
				if (!is_solid[get_site_index(x, y, z)])
					collide_cell(get_site_index(x, y, z), force);
}

/* Copies a face's populations that go in that way to the buffer, or from it. Returns how many. */
static int copy_face(int dimension, int way, int layer, double *buffer, bool is_packed)
{
	int count = 0, from[3] = {0, 0, 0}, upto[3];

	for (int d = 0; d < 3; d++)
		upto[d] = size[d] + 1;
	from[dimension] = upto[dimension] = layer;
	for (int q = 0; q < DIRECTIONS; q++) {
		double *values = get_populations(populations, q);

		if (directions[q][dimension] != way)
			continue;
		for (int x = from[0]; x <= upto[0]; x++)
			for (int y = from[1]; y <= upto[1]; y++)
				for (int z = from[2]; z <= upto[2]; z++) {
					double *value = &values[get_site_index(x, y, z)];

					*(is_packed ? &buffer[count] : value) =
						is_packed ? *value : buffer[count];
					count++;
				}
	}
	return count;
}

static void exchange_faces(int dimension)
{
	MPI_Request r[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int last = size[dimension], to_below = below[dimension], to_above = above[dimension];
	int n = copy_face(dimension, -1, 1, outbox[0], true);

	copy_face(dimension, 1, last, outbox[1], true);
	if (shape[dimension] == 1) {
		copy_face(dimension, -1, last + 1, outbox[0], false);
		copy_face(dimension, 1, 0, outbox[1], false);
		return;
	}
	MPI_Irecv(inbox[0], n, MPI_DOUBLE, to_above, 40 + dimension, grid, &r[0]);
	MPI_Irecv(inbox[1], n, MPI_DOUBLE, to_below, 50 + dimension, grid, &r[1]);
	ISEND("face_below", outbox[0], n, MPI_DOUBLE, to_below, 40 + dimension, grid, &r[2]);
	ISEND("face_above", outbox[1], n, MPI_DOUBLE, to_above, 50 + dimension, grid, &r[3]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	copy_face(dimension, -1, last + 1, inbox[0], false);
	copy_face(dimension, 1, 0, inbox[1], false);
}

/* From the cell before; what comes from a bead is what went to it. */
static void stream(void)
{
	double *old = populations;

	for (int q = 0; q < DIRECTIONS; q++) {
		const int *e = directions[q];
		double *to = get_populations(streamed, q);
		const double *from = get_populations(old, q);
		const double *back = get_populations(old, opposites[q]);

		for (int x = 1; x <= size[0]; x++)
			for (int y = 1; y <= size[1]; y++)
				for (int z = 1; z <= size[2]; z++) {
					int i = get_site_index(x, y, z);
					int before = get_site_index(x - e[0], y - e[1], z - e[2]);

					if (!is_solid[i])
						to[i] = is_solid[before] ? back[i] : from[before];
				}
	}
	populations = streamed;
	streamed = old;
}

static void advance(double force)
{
	collide(force);
	PASS("collide");
	for (int d = 0; d < 3; d++)
		exchange_faces(d);
	PASS("stream");
	stream();
}

/* Mass, momentum, energy and the number of cells of this rank, and the flow through each of its planes. Returns the highest speed. */
static double sum_cells(double *sums, double *flows)
{
	double highest = 0;

	memset(sums, 0, SUMS * sizeof(double));
	memset(flows, 0, (size_t)size[0] * sizeof(double));
	for (int x = 1; x <= size[0]; x++)
		for (int y = 1; y <= size[1]; y++)
			for (int z = 1; z <= size[2]; z++) {
				double momentum[3], density, square = 0;

				if (is_solid[get_site_index(x, y, z)])
					continue;
				density = sum_populations(
					populations, get_site_index(x, y, z), momentum);
				for (int d = 0; d < 3; d++) {
					square += pow(momentum[d] / density, 2);
					sums[1 + d] += momentum[d];
				}
				sums[0] += density;
				sums[4] += 0.5 * density * square;
				sums[5]++;
				flows[x - 1] += momentum[0];
				highest = fmax(highest, sqrt(square));
			}
	return highest;
}

/* Slow flow takes more turns in a step. */
static int choose_turns(double highest)
{
	double mine[8] = {0}, all[8] = {0};

	mine[0] = highest;
	ALLREDUCE("speed", mine, all, 1, MPI_DOUBLE, MPI_MAX, grid);
	return all[0] < 0.03 ? 4 : 3;
}

/* The first rank of the grid decides. */
static void control_force(const double *sums, double *force, double *integral)
{
	double error = wanted_speed - sums[1] / fmax(sums[0], 1);

	if (grid_rank == 0) {
		*integral += error;
		force[0] = fmax(0.03 * error + 0.006 * *integral, 0);
		force[1] = error;
	}
	PASS("control");
	BCAST("force", force, 2, MPI_DOUBLE, 0, grid);
}

static void check_mass(const double *sums, double *first)
{
	if (*first == 0)
		*first = sums[0];
	if (grid_rank == 0 && !(fabs(sums[0] / *first - 1) < 1e-11))
		fprintf(stderr, "step %d: mass %.15g, was %.15g\n", step, sums[0], *first);
}

/* How much flows through each plane of the box. Returns by how much the planes differ, on the first rank of each line. */
static double find_profile(double *flows)
{
	double *sums = make_array(size[0]), *all = make_array(box[0]);
	double least = HUGE_VAL, most = -HUGE_VAL;
	int counts[MAX_RANKS], first[MAX_RANKS];

	ALLREDUCE("flows", flows, sums, size[0], MPI_DOUBLE, MPI_SUM, plane);
	for (int k = 0; k < shape[0]; k++) {
		first[k] = find_block_origin(0, k);
		counts[k] = find_size(0, k);
	}
	CALL_("profile", sums, size[0], MPI_DOUBLE, MPI_OP_NULL, 0, -1,
		MPI_Gatherv(sums, c.n, c.type, all, counts, first, MPI_DOUBLE, c.peer, line));
	for (int i = 0; i < box[0]; i++) {
		least = fmin(least, all[i]);
		most = fmax(most, all[i]);
	}
	free(sums);
	free(all);
	return most - least;
}

/* The speed along x in the middle layer of z, written by the first rank. */
static void write_layer(void)
{
	double *mine = make_array(size[0] * size[1]), *all = make_array(box[0] * box[1]);
	int counts[MAX_RANKS], first[MAX_RANKS], where[3], n = 0, whole = 0, middle = box[2] / 2;
	FILE *file;

	for (int k = 0; k < ranks; k++) {
		MPI_Cart_coords(grid, k, 3, where);
		counts[k] = find_size(0, where[0]) * find_size(1, where[1]);
		if (middle < find_block_origin(2, where[2]) ||
			middle >= find_block_origin(2, where[2] + 1))
			counts[k] = 0;
		first[k] = whole;
		whole += counts[k];
	}
	for (; n < counts[grid_rank]; n++) {
		double momentum[3];
		int x = n / size[1] + 1, y = n % size[1] + 1, z = middle - origin[2] + 1;

		sum_populations(populations, get_site_index(x, y, z), momentum);
		mine[n] = momentum[0];
	}
	CALL_("image", mine, n, MPI_DOUBLE, MPI_OP_NULL, 0, -1,
		MPI_Gatherv(mine, c.n, c.type, all, counts, first, MPI_DOUBLE, c.peer, grid));
	file = grid_rank ? NULL : tmpfile();
	if (file) {
		fwrite(all, sizeof(double), (size_t)whole, file);
		fclose(file);
	}
	free(mine);
	free(all);
}

int main(int argc, char **argv)
{
	double mine[80] = {0}, sums[80] = {0}, force[80] = {4e-4}, *flows, mass = 0, integral = 0;
	double spread = 0;
	MPI_Request moments = MPI_REQUEST_NULL;
	long steps, turns = 0;
	int n;

	start_program(argc, argv);
	steps = get_option("steps", 30);
	n = (int)get_option("size", 250);
	n = n < 200 ? 10 : n < 400 ? 13 : 16;
	box[0] = n + n / 2;
	box[1] = n;
	box[2] = n - 1;
	init_grid();
	init_directions();
	init_fields();
	flows = make_array(size[0]);
	while (step < steps) {
		int inner = choose_turns(sum_cells(mine, flows));

		IALLREDUCE("moments", mine, sums, SUMS, MPI_DOUBLE, MPI_SUM, grid, &moments);
		for (int turn = 0; turn < inner; turn++) {
			advance(force[0]);
			if (turn == 0)
				MPI_Wait(&moments, MPI_STATUS_IGNORE);
		}
		turns += inner;
		check_mass(sums, &mass);
		control_force(sums, force, &integral);
		if (step % 3 == 2)
			spread = find_profile(flows);
		if (step % 5 == 4)
			write_layer();
		end_step();
	}
	/* Start-up waves have gone once there were some steps. */
	if (grid_rank == 0 && steps >= 20 && !(fabs(force[1]) < 0.3 * wanted_speed))
		fprintf(stderr, "the speed is off by %g of %g\n", force[1], wanted_speed);
	if (grid_rank == 0)
		printf("result %.12g %.12g %.12g %.12g %ld\n", sums[4], force[0], force[1], spread,
			turns);
	end_program();
	return 0;
}
