/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An oscillating reaction on a ring, by implicit steps: Newton's method, each correction by GMRES. Rank 0 decides whether a step counts
 * and how long the next one is. A lamp that flashes makes steps fail; all ranks feed the ring by what its means are.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 2, MOST_INNER = 24, MOST_NEWTON = 6, SAMPLES = 4, SUMS = 6, ROOM = 96 };

static int n;
/* Of cell -1 to n, two kinds each; the first and the last are the neighbours'. */
static double *now, *before, *guess, *slope, *residual, *basis[MOST_INNER + 1], *smooth, *product;
/* Of the matrix for a length of step: blocks on the diagonal, and their factors. */
static double *blocks, *factors, spread[KINDS] = {3, 24};
static double edges[4][ROOM], feed[ROOM] = {1, 3}, lamp, length = 0.02, tolerance = 0.1;
static MPI_Request requests[4];
static long inner_count, newton_count, failed_count;

static double *make_field(void)
{
	return make_array(KINDS * (n + 2)) + KINDS;
}

/* Messages of the edges, the same for all fields. */
static void init_halo(void)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;

	MPI_Recv_init(edges[0], KINDS, MPI_DOUBLE, left, 12, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(edges[1], KINDS, MPI_DOUBLE, right, 11, MPI_COMM_WORLD, &requests[1]);
	MPI_Send_init(edges[2], KINDS, MPI_DOUBLE, left, 11, MPI_COMM_WORLD, &requests[2]);
	MPI_Send_init(edges[3], KINDS, MPI_DOUBLE, right, 12, MPI_COMM_WORLD, &requests[3]);
}

static void exchange_edges(double *field)
{
	size_t size = KINDS * sizeof(double);

	MPI_Startall(2, requests);
	memcpy(edges[2], field, size);
	memcpy(edges[3], field + KINDS * (n - 1), size);
	CALL_("left", edges[2], KINDS, MPI_DOUBLE, MPI_OP_NULL, -1, -1, MPI_Start(&requests[2]));
	CALL_("right", edges[3], KINDS, MPI_DOUBLE, MPI_OP_NULL, -1, -1, MPI_Start(&requests[3]));
	MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
	memcpy(field - KINDS, edges[0], size);
	memcpy(field + KINDS * n, edges[1], size);
}

static void compute_reaction(const double *x, double *rate)
{
	double square = x[0] * x[0] * x[1];

	rate[0] = feed[0] - (feed[1] + lamp + 1) * x[0] + square;
	rate[1] = (feed[1] + lamp) * x[0] - square;
}

/* What is left of the step's equation; its matrix. */
static void compute_residual(void)
{
	exchange_edges(now);
	for (int i = 0; i < n; i++) {
		const double *x = now + KINDS * i;
		double rate[KINDS], *block = blocks + 4 * i, b = feed[1] + lamp;

		compute_reaction(x, rate);
		for (int k = 0; k < KINDS; k++) {
			rate[k] += spread[k] * (x[k - KINDS] - 2 * x[k] + x[k + KINDS]);
			residual[KINDS * i + k] = before[KINDS * i + k] + length * rate[k] - x[k];
		}
		block[0] = 1 + length * (2 * spread[0] + b + 1 - 2 * x[0] * x[1]);
		block[1] = -length * x[0] * x[0];
		block[2] = -length * (b - 2 * x[0] * x[1]);
		block[3] = 1 + length * (2 * spread[1] + x[0] * x[0]);
	}
}

static void multiply(double *x, double *y)
{
	exchange_edges(x);
	for (int i = 0; i < n; i++) {
		const double *a = x + KINDS * i, *block = blocks + 4 * i;

		for (int k = 0; k < KINDS; k++)
			y[KINDS * i + k] = block[2 * k] * a[0] + block[2 * k + 1] * a[1] -
					   length * spread[k] * (a[k - KINDS] + a[k + KINDS]);
	}
}

/* Inverse blocks of the own part's factors, without the neighbours. */
static void factor_own_part(void)
{
	for (int i = 0; i < n; i++) {
		double a[4], *f = factors + 4 * i, det;

		memcpy(a, blocks + 4 * i, sizeof(a));
		for (int k = 0; i && k < 4; k++)
			a[k] -= pow(length, 2) * spread[k / 2] * f[k - 4] * spread[k % 2];
		det = a[0] * a[3] - a[1] * a[2];
		f[0] = a[3] / det;
		f[1] = -a[1] / det;
		f[2] = -a[2] / det;
		f[3] = a[0] / det;
	}
}

static void solve_own_part(const double *x, double *y)
{
	for (int pass = 0; pass < 2; pass++)
		for (int j = 0; j < n; j++) {
			int i = pass ? n - 1 - j : j, beside = pass ? i + 1 : i - 1;
			const double *f = factors + 4 * i;
			double a[KINDS] = {0};

			for (int k = 0; k < KINDS; k++) {
				a[k] = pass ? 0 : x[KINDS * i + k];
				if (j)
					a[k] += length * spread[k] * y[KINDS * beside + k];
			}
			for (int k = 0; k < KINDS; k++)
				y[KINDS * i + k] = (pass ? y[KINDS * i + k] : 0) + f[2 * k] * a[0] +
						   f[2 * k + 1] * a[1];
		}
}

static double sum_own_products(const double *a, const double *b)
{
	double sum = 0;

	for (int i = 0; i < KINDS * n; i++)
		sum += a[i] * b[i];
	return sum;
}

static double get_norm(const double *a)
{
	double mine[8] = {0}, all[8] = {0};

	mine[0] = sum_own_products(a, a);
	ALLREDUCE("norm", mine, all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sqrt(all[0]);
}

/* Makes the product orthogonal to the basis; the column of factors is in h. Returns what is left. */
static double add_to_basis(int k, double *h)
{
	double mine[ROOM] = {0};

	for (int i = 0; i <= k; i++)
		mine[i] = sum_own_products(product, basis[i]);
	ALLREDUCE("dots", mine, h, k + 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int j = 0; j <= k; j++)
		for (int i = 0; i < KINDS * n; i++)
			product[i] -= h[j] * basis[j][i];
	h[k + 1] = get_norm(product);
	for (int i = 0; i < KINDS * n; i++)
		basis[k + 1][i] = product[i] / (h[k + 1] + 1e-300);
	return h[k + 1];
}

/* Adds GMRES's correction; until the residual is a part of what it was. */
static void correct(double norm)
{
	double columns[MOST_INNER][ROOM], turns[MOST_INNER][2], right[MOST_INNER + 1] = {norm};
	int count = 0;

	factor_own_part();
	for (int i = 0; i < KINDS * n; i++)
		basis[0][i] = residual[i] / norm;
	while (count < MOST_INNER && fabs(right[count]) > tolerance * norm) {
		double *h = columns[count], size;

		solve_own_part(basis[count], smooth);
		multiply(smooth, product);
		PASS("inner");
		add_to_basis(count, h);
		for (int i = 0; i < count; i++) {
			double a = h[i];

			h[i] = turns[i][0] * a + turns[i][1] * h[i + 1];
			h[i + 1] = turns[i][0] * h[i + 1] - turns[i][1] * a;
		}
		size = hypot(h[count], h[count + 1]) + 1e-300;
		turns[count][0] = h[count] / size;
		turns[count][1] = h[count + 1] / size;
		h[count] = size;
		right[count + 1] = -turns[count][1] * right[count];
		right[count] *= turns[count][0];
		count++;
	}
	inner_count += count;
	memset(product, 0, (size_t)(KINDS * n) * sizeof(double));
	for (int k = count - 1; k >= 0; k--) {
		for (int i = k + 1; i < count; i++)
			right[k] -= columns[i][k] * right[i];
		right[k] /= columns[k][k];
		for (int i = 0; i < KINDS * n; i++)
			product[i] += right[k] * basis[k][i];
	}
	solve_own_part(product, smooth);
	for (int i = 0; i < KINDS * n; i++)
		now[i] += smooth[i];
}

/* Returns whether the step's equation is solved. */
static int solve_step(void)
{
	double first = 0, last = 0;

	for (int turn = 0; turn <= MOST_NEWTON; turn++) {
		double norm;

		compute_residual();
		norm = get_norm(residual);
		if (norm < 2e-5 * sqrt((double)n * ranks))
			return 1;
		if (!isfinite(norm) || (turn && norm > 2 * first) || turn == MOST_NEWTON)
			break;
		/* The nearer the answer, the better each correction. */
		tolerance = turn ? fmin(0.1, fmax(1e-3, 0.9 * pow(norm / last, 2))) : 0.1;
		first = turn ? first : norm;
		last = norm;
		correct(norm);
		newton_count++;
	}
	return 0;
}

/* Rank 0 compares with the straight line from the last two. Returns whether the step counts. */
static int judge_step(int is_solved)
{
	double mine[80] = {0}, all[80] = {0}, control[80] = {0};

	for (int i = 0; i < KINDS * n; i++)
		mine[0] += pow((now[i] - guess[i]) / (0.02 + 0.02 * fabs(now[i])), 2);
	mine[1] = is_solved;
	mine[2] = sum_own_products(now, now);
	REDUCE("errors", mine, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		double error = sqrt(all[0] / (KINDS * n * ranks)) + 1e-3;
		double factor = fmin(fmax(0.8 / sqrt(error), 0.3), 1.6);

		control[0] = all[1] == ranks && error < 1;
		control[1] = all[1] == ranks ? fmin(length * factor, 0.3) : length / 4;
		control[2] = control[0] != 0 && length < 0.02 ? 0.5 : 1;
	}
	BCAST("control", control, 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (!(control[0] > 0.25))
		failed_count++;
	length = control[1] > 1e-5 && control[1] < 1 ? control[1] : 1e-3;
	lamp *= control[2];
	return control[0] > 0.25;
}

/* One step that counts. Returns its time. */
static double advance(void)
{
	double time = length;
	int is_done = 0;

	memcpy(before, now, (size_t)(KINDS * n) * sizeof(double));
	for (int turn = 0; turn < 9 && !is_done; turn++) {
		time = length;
		for (int i = 0; i < KINDS * n; i++)
			now[i] = guess[i] = before[i] + length * slope[i];
		PASS("attempt");
		is_done = judge_step(solve_step());
	}
	if (!is_done)
		fprintf(stderr, "step %d: rank %d has no step\n", step, rank);
	for (int i = 0; i < KINDS * n; i++)
		slope[i] = (now[i] - before[i]) / time;
	return time;
}

/* Means of all cells, and with them what is fed. */
static void feed_ring(double time)
{
	double mine[80] = {0}, all[80] = {0}, range[8] = {0}, ranges[8] = {0};
	double cells = (double)n * ranks;

	for (int i = 0; i < n; i++) {
		const double *x = now + KINDS * i;
		double rate[KINDS];

		compute_reaction(x, rate);
		mine[0] += x[0];
		mine[1] += x[1];
		mine[2] += x[0] * x[0];
		mine[3] += x[1] * x[1];
		mine[4] += fabs(rate[0]);
		mine[5] += x[0] > 2;
		range[0] = fmax(range[0], x[0]);
		range[1] = fmax(range[1], x[1]);
	}
	ALLREDUCE("means", mine, all, SUMS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	feed[0] += 0.2 * time * (1.1 - all[0] / cells);
	feed[1] += 0.2 * time * (2.6 - all[1] / cells);
	KEEP("feed", feed, 2);
	range[2] = feed[0];
	range[3] = -feed[0];
	range[4] = feed[1];
	range[5] = -feed[1];
	ALLREDUCE("ranges", range, ranges, 6, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (ranges[2] != -ranges[3] || ranges[4] != -ranges[5] || !(ranges[0] < 30))
		fprintf(stderr, "step %d: rank %d feeds %g and %g, others %g to %g\n", step, rank,
			feed[0], feed[1], -ranges[3], ranges[2]);
}

static void write_profile(void)
{
	double mine[ROOM] = {0}, *all = make_array(SAMPLES * ranks);
	FILE *file;

	for (int i = 0; i < SAMPLES; i++)
		mine[i] = now[KINDS * (i * n / SAMPLES)];
	GATHER("profile", mine, SAMPLES, MPI_DOUBLE, all, 0, MPI_COMM_WORLD);
	file = rank ? NULL : tmpfile();
	if (file) {
		fwrite(all, sizeof(double), (size_t)(SAMPLES * ranks), file);
		fclose(file);
	}
	free(all);
}

int main(int argc, char **argv)
{
	double time = 0, flash, last;
	long turns;

	start_program(argc, argv);
	turns = get_option("steps", 30);
	n = (int)get_option("size", 250) / 5 + 10;
	now = make_field();
	before = make_field();
	guess = make_field();
	slope = make_field();
	residual = make_field();
	smooth = make_field();
	product = make_field();
	blocks = make_array(4 * n);
	factors = make_array(4 * n);
	for (int i = 0; i <= MOST_INNER; i++)
		basis[i] = make_field();
	for (int i = 0; i < n; i++) {
		now[KINDS * i] = 1 + 0.4 * draw();
		now[KINDS * i + 1] = 3 + 0.4 * draw();
	}
	init_halo();
	flash = 0.2 + 0.5 * draw_common();
	while (step < turns) {
		/* Steps of a length that was right before are too long now. */
		if (time > flash) {
			lamp = 4;
			flash = time + 0.3 + 1.2 * draw_common();
		}
		last = advance();
		time += last;
		lamp = lamp > 0.01 ? lamp * 0.6 : 0;
		feed_ring(last);
		if (step % 3 == 2)
			write_profile();
		end_step();
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&requests[i]);
	if (!rank)
		printf("result %.12g %.12g %.12g %ld %ld %ld\n", time, feed[0], feed[1],
			newton_count, inner_count, failed_count);
	end_program();
	return 0;
}
