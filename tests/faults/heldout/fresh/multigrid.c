/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heat that spreads through a medium with inclusions, by implicit steps. Each is solved by multigrid on strips of rows until the
 * residual is small. Coarse grids are collected on every second rank, and those ranks alone solve the coarsest one. A slow cycle
 * makes the next one a W-cycle.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 5, SPLIT = 3, ROWS = 16, BALLS = 4, ROOM = 96 };

struct level {
	MPI_Comm comm;
	int me, parts, rows, columns;
	double width; /* of a cell; the finest one's is 1 */
	double *u, *f, *r, *k;
};

static struct level levels[LEVELS];
static MPI_Comm pair;
static double *part, *whole, balls[ROOM], pace = 1;
static int in_pair, pair_size;

/* Of row -1 to rows, the first and the last are the neighbours'. */
static double *get_row(const struct level *l, double *a, int y)
{
	return a + (size_t)(y + 1) * (size_t)l->columns;
}

static void init_level(struct level *l, MPI_Comm comm, int rows, int columns, double width)
{
	*l = (struct level){.comm = comm, .rows = rows, .columns = columns, .width = width};
	if (comm == MPI_COMM_NULL)
		return;
	MPI_Comm_rank(comm, &l->me);
	MPI_Comm_size(comm, &l->parts);
	l->u = make_array((rows + 2) * columns);
	l->f = make_array((rows + 2) * columns);
	l->r = make_array((rows + 2) * columns);
	l->k = make_array((rows + 2) * columns);
}

/* Grids down to SPLIT are on all ranks, the others on the first rank of each pair. */
static void init_levels(int columns)
{
	MPI_Comm leaders;

	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
	MPI_Comm_rank(pair, &in_pair);
	MPI_Comm_size(pair, &pair_size);
	MPI_Comm_split(MPI_COMM_WORLD, in_pair ? MPI_UNDEFINED : 0, rank, &leaders);
	for (int k = 0; k < LEVELS; k++)
		init_level(&levels[k], k < SPLIT ? MPI_COMM_WORLD : leaders,
			(ROWS >> k) * (k < SPLIT ? 1 : pair_size), columns >> k, 1 << k);
	part = make_array(ROWS / 2 * (columns / 2));
	whole = make_array((ROWS >> SPLIT) * (columns >> SPLIT) * ranks);
}

static void start_halo(struct level *l, double *a, MPI_Request *r)
{
	int n = l->columns, up = (l->me + l->parts - 1) % l->parts, down = (l->me + 1) % l->parts;
	MPI_Comm own = l->comm;

	for (int k = 0; k < 4; k++)
		r[k] = MPI_REQUEST_NULL;
	MPI_Irecv(get_row(l, a, -1), n, MPI_DOUBLE, up, 91, own, &r[0]);
	MPI_Irecv(get_row(l, a, l->rows), n, MPI_DOUBLE, down, 92, own, &r[1]);
	ISEND("halo_down", get_row(l, a, l->rows - 1), n, MPI_DOUBLE, down, 91, own, &r[2]);
	ISEND("halo_up", get_row(l, a, 0), n, MPI_DOUBLE, up, 92, own, &r[3]);
}

/* The residual of a row; *weight: the operator's diagonal over it. */
static void relax_row(struct level *l, int y, double *weight)
{
	double *u = get_row(l, l->u, y), *k = get_row(l, l->k, y), *r = get_row(l, l->r, y);
	int n = l->columns, near[2] = {-n, n};

	for (int x = 0; x < n; x++) {
		double sum = pace * u[x], all = pace;
		int sides[4] = {x + near[0], x + near[1], (x + 1) % n, (x + n - 1) % n};

		for (int i = 0; i < 4; i++) {
			double c = 0.5 * (k[x] + k[sides[i]]) / (l->width * l->width);

			sum += c * (u[x] - u[sides[i]]);
			all += c;
		}
		r[x] = get_row(l, l->f, y)[x] - sum;
		weight[x] = 1 / all;
	}
}

/* Residuals; u is improved by them if damping is above 0. The inner rows are computed while the halo is under way. */
static void compute_residual(struct level *l, double damping)
{
	double weights[ROWS * 2][64];
	MPI_Request r[4];

	start_halo(l, l->u, r);
	for (int y = 1; y < l->rows - 1; y++)
		relax_row(l, y, weights[y]);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
	relax_row(l, 0, weights[0]);
	if (l->rows > 1)
		relax_row(l, l->rows - 1, weights[l->rows - 1]);
	for (int y = 0; damping > 0 && y < l->rows; y++)
		for (int x = 0; x < l->columns; x++)
			get_row(l, l->u, y)[x] += damping * weights[y][x] * get_row(l, l->r, y)[x];
}

/* Means of two times two cells. */
static void copy_down(const struct level *l, double *fine, double *coarse)
{
	for (int y = 0; y < l->rows / 2; y++)
		for (int x = 0; x < l->columns / 2; x++) {
			double *a = get_row(l, fine, 2 * y) + 2 * x, *b = a + l->columns;

			coarse[y * (l->columns / 2) + x] = (a[0] + a[1] + b[0] + b[1]) / 4;
		}
}

static void add_up(struct level *l, const double *coarse)
{
	for (int y = 0; y < l->rows; y++)
		for (int x = 0; x < l->columns; x++)
			get_row(l, l->u, y)[x] += coarse[y / 2 * (l->columns / 2) + x / 2];
}

static void join_strips(void)
{
	int n = (ROWS >> SPLIT) * levels[SPLIT].columns;

	GATHER("collect", part, n, MPI_DOUBLE, whole, 0, pair);
}

static void spread_strips(void)
{
	int n = (ROWS >> SPLIT) * levels[SPLIT].columns;

	CALL_("spread", NULL, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Scatter(whole, c.n, c.type, part, c.n, c.type, 0, pair));
}

/* Until the residual has fallen to a tenth. */
static void compute_coarsest(struct level *l)
{
	double mine[8] = {0}, sum[8] = {0}, first = 0;

	for (int turn = 0; turn < 3; turn++) {
		for (int k = 0; k < 2; k++)
			compute_residual(l, 0.8);
		PASS("coarse");
		mine[0] = 0;
		for (int i = 0; i < l->rows * l->columns; i++)
			mine[0] += pow(get_row(l, l->r, 0)[i], 2);
		ALLREDUCE("coarse_norm", mine, sum, 1, MPI_DOUBLE, MPI_SUM, l->comm);
		first = turn ? first : sum[0];
		if (sum[0] <= 0.01 * first)
			break;
	}
}

static void compute_cycle(int level, int turns);

/* The coarser grid's answer to this one's residual is added. */
static void update_from_coarse(int level, int turns)
{
	struct level *l = &levels[level], *next = l + 1;
	size_t size = (size_t)next->rows * (size_t)next->columns * sizeof(double);
	bool is_split = level + 1 == SPLIT;

	copy_down(l, l->r, part);
	if (is_split)
		join_strips();
	if (next->u) {
		memcpy(get_row(next, next->f, 0), is_split ? whole : part, size);
		memset(get_row(next, next->u, 0), 0, size);
		for (int k = 0; k < turns; k++)
			compute_cycle(level + 1, turns);
		memcpy(is_split ? whole : part, get_row(next, next->u, 0), size);
	}
	if (is_split)
		spread_strips();
	add_up(l, part);
}

static void compute_cycle(int level, int turns)
{
	struct level *l = &levels[level];

	if (level == LEVELS - 1) {
		compute_coarsest(l);
		return;
	}
	compute_residual(l, 0.8);
	compute_residual(l, 0.8);
	compute_residual(l, 0);
	update_from_coarse(level, level < SPLIT - 1 ? 1 : turns);
	compute_residual(l, 0.8);
	compute_residual(l, 0.8);
}

static void init_medium(void)
{
	struct level *l = &levels[0];
	MPI_Request r[4];

	for (int y = 0; y < l->rows; y++)
		for (int x = 0; x < l->columns; x++) {
			double k = 1;

			for (int i = 0; i < BALLS; i++) {
				double dx = x - balls[2 * i] * l->columns;
				double dy = rank * l->rows + y - balls[2 * i + 1] * ranks * l->rows;

				k += 20 * exp(-0.05 * (dx * dx + dy * dy));
			}
			get_row(l, l->k, y)[x] = k;
		}
	for (int k = 1; k < LEVELS; k++) {
		struct level *next = l + 1;

		copy_down(l, l->k, part);
		if (k == SPLIT)
			join_strips();
		start_halo(l, l->k, r);
		MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
		if (!next->u)
			return;
		memcpy(get_row(next, next->k, 0), k == SPLIT ? whole : part,
			(size_t)next->rows * (size_t)next->columns * sizeof(double));
		l = next;
	}
	start_halo(l, l->k, r);
	MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
}

static double get_norm(const struct level *l, double *a)
{
	double sum = 0;

	for (int i = 0; i < l->rows * l->columns; i++)
		sum += pow(get_row(l, a, 0)[i], 2);
	return sum;
}

/* Returns the cycles. */
static int compute_solution(void)
{
	double mine[8] = {0}, sum[8] = {0}, last;
	int cycles = 0, turns = 1;

	do {
		last = cycles ? sum[0] : HUGE_VAL;
		PASS("smooth");
		compute_cycle(0, turns);
		compute_residual(&levels[0], 0);
		mine[0] = get_norm(&levels[0], levels[0].r);
		ALLREDUCE("norm", mine, sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		turns = sum[0] > 0.1 * last ? 2 : 1;
	} while (sum[0] > 1e-4 && ++cycles < 12);
	return cycles;
}

int main(int argc, char **argv)
{
	double mine[8] = {0}, loads[ROOM * 2] = {0}, energy[8] = {0}, total[8] = {0}, cycles = 0;
	struct level *l = &levels[0];
	int size;

	start_program(argc, argv);
	size = (int)get_option("size", 250);
	init_levels(size < 200 ? 16 : size < 400 ? 32 : 64);
	for (int i = 0; i < l->rows * l->columns; i++)
		get_row(l, l->u, 0)[i] = draw();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		int fullest = 0, done;

		/* Rank 0 says where the inclusions are. */
		for (int i = 0; rank == 0 && i < 2 * BALLS; i++)
			balls[i] = draw();
		BCAST("medium", balls, 2 * BALLS, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		PASS("assemble");
		init_medium();
		for (int i = 0; i < l->rows * l->columns; i++)
			get_row(l, l->f, 0)[i] = pace * get_row(l, l->u, 0)[i] + 0.3 * draw();
		done = compute_solution();
		cycles += done + 1;
		mine[0] = get_norm(l, l->u);
		mine[1] = get_norm(l, l->r);
		ALLGATHER("loads", mine, 2, MPI_DOUBLE, loads, MPI_COMM_WORLD);
		for (int k = 0; k < ranks; k++)
			fullest = loads[2 * k] > loads[2 * fullest] ? k : fullest;
		/* The next step is shorter if this one was hard, or most heat is in the first strip. */
		pace = done > 2 || fullest == 0 ? 0.5 : 0.2;
		energy[0] = mine[0];
		energy[1] = energy[0] * pace;
		REDUCE("energy", energy, total, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (!rank && (done == 12 || !(total[0] > 0)))
			fprintf(stderr, "step %d: no solution in %d cycles\n", step, done);
		end_step();
	}
	if (!rank)
		printf("result %.17g %g\n", total[0], cycles);
	end_program();
	return 0;
}
