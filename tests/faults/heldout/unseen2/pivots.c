/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waves around an obstacle, one frequency in each step: a dense system with four right-hand sides, factored with partial pivoting in
 * blocks that are dealt to a grid of ranks in cycles. The panel is on its way along the rows of the grid while rows are swapped in its
 * columns. Each solution is checked with a matrix that is computed again.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 4, SIDES = BLOCK, ACROSS = 2, ENTRY = 2 + 2 * BLOCK, ANGLES = 6 };

static MPI_Comm row_ranks, column_ranks;
static int down, grid_row, grid_column, blocks, order;
/* Of this rank: rows and columns, and the matrix with the right-hand sides after it. */
static int rows, columns;
static double *matrix, *panel, *upper, *solution, *whole, *sums, *points, *outbox, *inbox;
static double frequency;

static int count_blocks(int upto, int places, int place)
{
	return upto / places + (place < upto % places);
}

/* The own row or column at which blocks begin from this one on. */
static int find_first_of_block(int block, int places, int place)
{
	return BLOCK * count_blocks(block, places, place);
}

static int get_global(int own, int places, int place)
{
	return (own / BLOCK * places + place) * BLOCK + own % BLOCK;
}

static int get_own(int index, int places)
{
	return index / BLOCK / places * BLOCK + index % BLOCK;
}

static int find_row_owner(int row)
{
	return row / BLOCK % down;
}

static double *get_row(int own)
{
	return matrix + (size_t)own * (size_t)columns;
}

static void init_grid(void)
{
	down = ranks / ACROSS;
	grid_row = rank / ACROSS;
	grid_column = rank % ACROSS;
	MPI_Comm_split(MPI_COMM_WORLD, grid_row, grid_column, &row_ranks);
	MPI_Comm_split(MPI_COMM_WORLD, grid_column, grid_row, &column_ranks);
}

static void init_matrix(int wanted_blocks)
{
	blocks = wanted_blocks;
	order = blocks * BLOCK;
	rows = BLOCK * count_blocks(blocks, down, grid_row);
	columns = BLOCK * count_blocks(blocks + 1, ACROSS, grid_column);
	matrix = make_array(rows * columns);
	panel = make_array(rows * BLOCK);
	upper = make_array(BLOCK * columns);
	outbox = make_array(columns);
	inbox = make_array(columns);
	solution = make_array(order * SIDES);
	whole = make_array(order * SIDES);
	sums = make_array(rows * SIDES);
	points = make_array(2 * order);
	for (int i = 0; i < order; i++) {
		double angle = 2 * M_PI * i / order, wobble = 1 + 0.15 * (draw_common() - 0.5);

		points[2 * i] = 1.6 * wobble * cos(angle);
		points[2 * i + 1] = wobble * sin(angle);
	}
}

/* Equations are numbered as a mesh generator left them. After the last column: a wave from each of four ways. */
static double compute_element(int row, int column)
{
	int point = (row * 5 + 3) % order;
	double x = points[2 * point], y = points[2 * point + 1], distance;

	if (column >= order) {
		double angle = M_PI / 2 * (column - order) + 0.3;

		return cos(frequency * (x * cos(angle) + y * sin(angle)));
	}
	distance = hypot(x - points[2 * column], y - points[2 * column + 1]);
	return cos(frequency * distance) / (0.3 + 2 * distance) * 8 / order +
	       (point == column ? 0.02 : 0);
}

static void fill_matrix(void)
{
	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++)
			get_row(i)[j] = compute_element(
				get_global(i, down, grid_row), get_global(j, ACROSS, grid_column));
}

/* The largest element of a column, from the diagonal on; its row and the diagonal's. */
static void find_own_pivot(int column, double *entry)
{
	int own_column = get_own(column, ACROSS), begin = own_column / BLOCK * BLOCK, best = -1;

	memset(entry, 0, ENTRY * sizeof(double));
	entry[0] = -1;
	for (int i = 0; i < rows; i++) {
		double value = fabs(get_row(i)[own_column]);

		if (get_global(i, down, grid_row) < column || !(value > entry[0]))
			continue;
		entry[0] = value;
		best = i;
	}
	if (best >= 0) {
		entry[1] = get_global(best, down, grid_row);
		memcpy(entry + 2, get_row(best) + begin, BLOCK * sizeof(double));
	}
	if (find_row_owner(column) == grid_row)
		memcpy(entry + 2 + BLOCK, get_row(get_own(column, down)) + begin,
			BLOCK * sizeof(double));
}

/* Over all ranks of a column of the grid. Exchanges the two rows in the panel. */
static int choose_pivot(int column, double *pivot_row)
{
	double mine[2 * ENTRY + 64] = {0}, *all = make_array(ENTRY * down);
	int begin = get_own(column, ACROSS) / BLOCK * BLOCK, winner = 0, row = column;

	find_own_pivot(column, mine);
	ALLGATHER("candidates", mine, ENTRY, MPI_DOUBLE, all, column_ranks);
	for (int k = 1; k < down; k++)
		winner = all[ENTRY * k] > all[ENTRY * winner] ? k : winner;
	if (all[ENTRY * winner + 1] >= column && all[ENTRY * winner + 1] < order)
		row = (int)all[ENTRY * winner + 1];
	memcpy(pivot_row, all + ENTRY * winner + 2, BLOCK * sizeof(double));
	if (find_row_owner(row) == grid_row)
		memcpy(get_row(get_own(row, down)) + begin,
			all + ENTRY * find_row_owner(column) + 2 + BLOCK, BLOCK * sizeof(double));
	if (find_row_owner(column) == grid_row)
		memcpy(get_row(get_own(column, down)) + begin, pivot_row, BLOCK * sizeof(double));
	free(all);
	return row;
}

static void factor_panel(int block, double *pivots)
{
	int begin = get_own(block * BLOCK, ACROSS);

	for (int j = 0; j < BLOCK; j++) {
		double pivot_row[BLOCK];

		pivots[j] = choose_pivot(block * BLOCK + j, pivot_row);
		for (int i = 0; i < rows; i++) {
			double *row = get_row(i) + begin;

			if (get_global(i, down, grid_row) <= block * BLOCK + j)
				continue;
			row[j] /= pivot_row[j];
			for (int k = j + 1; k < BLOCK; k++)
				row[k] -= row[j] * pivot_row[k];
		}
	}
}

/* The other columns follow: two rows of one rank, or of two. */
static void swap_rows(int block, const double *pivots)
{
	int begin = find_first_of_block(block + 1, ACROSS, grid_column), n = columns - begin;

	for (int j = 0; j < BLOCK && n > 0; j++) {
		int row = block * BLOCK + j, other = row, partner, mine;
		MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

		if (pivots[j] > row && pivots[j] < order)
			other = (int)pivots[j];
		if (find_row_owner(row) != grid_row && find_row_owner(other) != grid_row)
			continue;
		mine = get_own(find_row_owner(row) == grid_row ? row : other, down);
		partner = find_row_owner(find_row_owner(row) == grid_row ? other : row);
		memcpy(outbox, get_row(mine) + begin, (size_t)n * sizeof(double));
		if (partner == grid_row) {
			double *to = get_row(get_own(other, down)) + begin;

			memcpy(get_row(mine) + begin, to, (size_t)n * sizeof(double));
			memcpy(to, outbox, (size_t)n * sizeof(double));
			continue;
		}
		MPI_Irecv(inbox, n, MPI_DOUBLE, partner, 60 + j, column_ranks, &r[0]);
		ISEND("swap", outbox, n, MPI_DOUBLE, partner, 60 + j, column_ranks, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
		memcpy(get_row(mine) + begin, inbox, (size_t)n * sizeof(double));
	}
}

/* The rows of the block, with the lower triangle of the panel. */
static void solve_upper(int block, int begin, int width)
{
	int first = get_own(block * BLOCK, down);

	for (int i = 0; i < BLOCK; i++) {
		double *row = get_row(first + i) + begin;

		for (int k = 0; k < i; k++)
			for (int j = 0; j < width; j++)
				row[j] -= panel[i * BLOCK + k] * upper[k * width + j];
		memcpy(upper + i * width, row, (size_t)width * sizeof(double));
	}
}

static void update_rest(int block, int begin, int width)
{
	int first = find_first_of_block(block, down, grid_row);

	for (int i = find_first_of_block(block + 1, down, grid_row); i < rows; i++)
		for (int k = 0; k < BLOCK; k++)
			for (int j = 0; j < width; j++)
				get_row(i)[begin + j] -=
					panel[(i - first) * BLOCK + k] * upper[k * width + j];
}

static void factor_block(int block)
{
	double pivots[2 * BLOCK + 64] = {0};
	int owner = block % ACROSS, first = find_first_of_block(block, down, grid_row);
	int begin = find_first_of_block(block + 1, ACROSS, grid_column), width = columns - begin;
	int n = (rows - first) * BLOCK;
	MPI_Request sent = MPI_REQUEST_NULL;

	if (grid_column == owner) {
		factor_panel(block, pivots);
		for (int i = first; i < rows; i++)
			memcpy(panel + (i - first) * BLOCK,
				get_row(i) + get_own(block * BLOCK, ACROSS),
				BLOCK * sizeof(double));
	}
	PASS("panel_ends");
	BCAST("pivots", pivots, BLOCK, MPI_DOUBLE, owner, row_ranks);
	if (n > 0)
		CALL_("panel", grid_column == owner ? panel : NULL, n, MPI_DOUBLE, MPI_OP_NULL,
			owner, -1, MPI_Ibcast(panel, c.n, c.type, c.peer, row_ranks, &sent));
	swap_rows(block, pivots);
	MPI_Wait(&sent, MPI_STATUS_IGNORE);
	if (!width)
		return;
	if (grid_row == block % down)
		solve_upper(block, begin, width);
	CALL_("upper", grid_row == block % down ? upper : NULL, BLOCK * width, MPI_DOUBLE,
		MPI_OP_NULL, block % down, -1, MPI_Bcast(upper, c.n, c.type, c.peer, column_ranks));
	PASS("update");
	update_rest(block, begin, width);
}

/* What is left of a block's right-hand sides goes to the rank of its diagonal, which solves for its unknowns. */
static void solve_block(int block)
{
	double mine[2 * BLOCK * SIDES + 64] = {0}, x[2 * BLOCK * SIDES + 64] = {0};
	int owner = block % ACROSS, own_row = get_own(block * BLOCK, down);
	int own_column = get_own(block * BLOCK, ACROSS);

	if (grid_row == block % down) {
		for (int i = 0; i < BLOCK * SIDES; i++) {
			int row = own_row + i / SIDES;

			mine[i] = -sums[row * SIDES + i % SIDES];
			if (grid_column == blocks % ACROSS)
				mine[i] += get_row(row)[get_own(order + i % SIDES, ACROSS)];
		}
		REDUCE("partial", mine, x, BLOCK * SIDES, MPI_DOUBLE, MPI_SUM, owner, row_ranks);
	}
	if (grid_column != owner)
		return;
	for (int i = BLOCK - 1; i >= 0 && grid_row == block % down; i--) {
		double *row = get_row(own_row + i) + own_column;

		for (int s = 0; s < SIDES; s++) {
			for (int k = i + 1; k < BLOCK; k++)
				x[i * SIDES + s] -= row[k] * x[k * SIDES + s];
			x[i * SIDES + s] /= row[i];
		}
	}
	PASS("solve");
	CALL_("solved", grid_row == block % down ? x : NULL, BLOCK * SIDES, MPI_DOUBLE, MPI_OP_NULL,
		block % down, -1, MPI_Bcast(x, c.n, c.type, c.peer, column_ranks));
	memcpy(solution + block * BLOCK * SIDES, x, BLOCK * SIDES * sizeof(double));
	for (int i = 0; i < find_first_of_block(block, down, grid_row); i++)
		for (int k = 0; k < BLOCK * SIDES; k++)
			sums[i * SIDES + k % SIDES] += get_row(i)[own_column + k / SIDES] * x[k];
}

/* How far the right-hand sides are missed, of the largest element that could be there. */
static double find_residual(void)
{
	double *mine = make_array(rows * SIDES), *all = make_array(rows * SIDES), worst[8] = {0};
	double largest[8] = {0};

	for (int i = 0; i < rows; i++)
		for (int j = 0; j < columns; j++) {
			int row = get_global(i, down, grid_row);
			int column = get_global(j, ACROSS, grid_column);
			double element = compute_element(row, column);

			for (int s = 0; s < SIDES && column < order; s++)
				mine[i * SIDES + s] -= element * whole[column * SIDES + s];
			if (column >= order)
				mine[i * SIDES + column - order] += element;
		}
	ALLREDUCE("products", mine, all, rows * SIDES, MPI_DOUBLE, MPI_SUM, row_ranks);
	for (int i = 0; i < rows * SIDES; i++)
		worst[0] = fmax(worst[0], isnan(all[i]) ? HUGE_VAL : fabs(all[i]));
	for (int i = 0; i < order * SIDES; i++)
		worst[1] = fmax(worst[1], fabs(whole[i]));
	ALLREDUCE("residual", worst, largest, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	free(mine);
	free(all);
	return largest[0] / (1 + largest[1]);
}

static void solve_system(void)
{
	fill_matrix();
	for (int block = 0; block < blocks; block++)
		factor_block(block);
	memset(solution, 0, (size_t)(order * SIDES) * sizeof(double));
	memset(sums, 0, (size_t)(rows * SIDES) * sizeof(double));
	for (int block = blocks - 1; block >= 0; block--)
		solve_block(block);
	ALLREDUCE("solution", solution, whole, order * SIDES, MPI_DOUBLE, MPI_SUM, row_ranks);
}

/* How much each element grew in the factors, at most. */
static double find_growth(void)
{
	double mine[8] = {0}, all[8] = {0};

	for (int i = 0; i < rows * columns; i++)
		mine[0] = fmax(mine[0], fabs(matrix[i]));
	ALLREDUCE("growth", mine, all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return all[0];
}

/* The far field in angles of this rank's own, for rank 0 to write. */
static double write_field(void)
{
	double field[80] = {0}, *all = make_array(ANGLES * ranks), power = 0;
	FILE *file;

	for (int a = 0; a < ANGLES; a++) {
		double angle = 2 * M_PI * (rank * ANGLES + a) / (ranks * ANGLES);

		for (int i = 0; i < order; i++)
			field[a] += whole[i * SIDES] / order *
				    cos(frequency * (points[2 * i] * cos(angle) +
							    points[2 * i + 1] * sin(angle)));
	}
	GATHER("field", field, ANGLES, MPI_DOUBLE, all, 0, MPI_COMM_WORLD);
	for (int i = 0; i < ANGLES * ranks; i++)
		power += all[i] * all[i] / (ANGLES * ranks);
	file = rank ? NULL : tmpfile();
	if (file) {
		fwrite(all, sizeof(double), (size_t)(ANGLES * ranks), file);
		fclose(file);
	}
	free(all);
	return power;
}

/* Rank 0 takes shorter ways where the solution changes much. */
static void choose_frequency(double growth, double *last_growth, double *width)
{
	double chosen[80] = {0};

	if (rank == 0) {
		bool is_steep = fabs(log(growth / *last_growth)) > 0.1;

		*width = fmin(fmax(*width * (is_steep ? 0.6 : 1.3), 0.01), 0.08);
		chosen[0] = frequency + *width;
		*last_growth = growth;
	}
	BCAST("frequency", chosen, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	frequency = chosen[0];
}

int main(int argc, char **argv)
{
	double growth = 1, last_growth = 1, width = 0.05, power = 0, residual = 0;
	long steps;
	int size;

	start_program(argc, argv);
	steps = get_option("steps", 30);
	size = (int)get_option("size", 250);
	init_grid();
	/* An odd number: the right-hand sides are not where the last unknowns are. */
	init_matrix(size < 200 ? 7 : size < 400 ? 11 : 13);
	frequency = 1 + draw_common();
	while (step < steps) {
		choose_frequency(growth, &last_growth, &width);
		solve_system();
		growth = find_growth();
		residual = find_residual();
		if (rank == 0 && !(residual < 1e-10 && growth < 1e3))
			fprintf(stderr, "step %d: frequency %g, residual %g, growth %g\n", step,
				frequency, residual, growth);
		if (step % 2)
			power = write_field();
		end_step();
	}
	if (!rank)
		printf("result %.12g %.12g %.12g %.12g\n", frequency, growth, power, whole[0]);
	end_program();
	return 0;
}
