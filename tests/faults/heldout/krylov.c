/* SPDX-License-Identifier: Apache-2.0 */
/* Implicit time steps: each is solved by conjugate gradients with restarts and deflation, until the residual is small. */
#include "heldout.h"
#include <math.h>
#include <string.h>

enum { DEFLATED = 5, RESTART = 9 };

static int n;
static double *x, *b, *r, *p, *q, *space[DEFLATED], shift = 0.3;

/* q = A p; the inner parts are computed while the ends are under way. */
static void compute_product(void)
{
	int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
	double from_left[8] = {0}, from_right[8] = {0};
	MPI_Request w[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};

	MPI_Irecv(from_left, 4, MPI_DOUBLE, left, 11, MPI_COMM_WORLD, &w[0]);
	MPI_Irecv(from_right, 4, MPI_DOUBLE, right, 12, MPI_COMM_WORLD, &w[1]);
	ISEND("end_right", p + n - 4, 4, MPI_DOUBLE, right, 11, MPI_COMM_WORLD, &w[2]);
	ISEND("end_left", p, 4, MPI_DOUBLE, left, 12, MPI_COMM_WORLD, &w[3]);
	for (int i = 1; i < n - 1; i++)
		q[i] = (2 + shift) * p[i] - p[i - 1] - p[i + 1];
	MPI_Waitall(4, w, MPI_STATUSES_IGNORE);
	q[0] = (2 + shift) * p[0] - from_left[3] - p[1];
	q[n - 1] = (2 + shift) * p[n - 1] - p[n - 2] - from_right[0];
}

static double compute_dot(const double *a, const double *c)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		s += a[i] * c[i];
	return s;
}

/* Removes the slow directions from the residual. */
static void remove_slow_parts(void)
{
	double part[DEFLATED * 2], whole[DEFLATED * 2];

	for (int k = 0; k < DEFLATED; k++)
		part[k] = compute_dot(space[k], r);
	ALLREDUCE("deflate", part, whole, DEFLATED, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	for (int k = 0; k < DEFLATED; k++)
		for (int i = 0; i < n; i++)
			x[i] += whole[k] * space[k][i] * 0.1;
	memcpy(p, x, (size_t)n * sizeof(double));
	compute_product();
	for (int i = 0; i < n; i++)
		p[i] = r[i] = b[i] - q[i];
}

static int compute_solution(double tolerance)
{
	double part[8], old[8], both[8];
	int turns = 0;
	MPI_Request w;

	remove_slow_parts();
	part[0] = compute_dot(r, r);
	ALLREDUCE("residual", part, old, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	while (old[0] > tolerance && ++turns < 40) {
		double alpha;

		compute_product();
		part[0] = compute_dot(p, q);
		part[1] = compute_dot(r, q);
		part[2] = compute_dot(q, q);
		w = MPI_REQUEST_NULL;
		IALLREDUCE("dots", part, both, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &w);
		PASS("precondition");
		MPI_Wait(&w, MPI_STATUS_IGNORE);
		alpha = old[0] / (both[0] + 1e-300);
		for (int i = 0; i < n; i++) {
			x[i] += alpha * p[i];
			r[i] -= alpha * q[i];
		}
		part[0] = compute_dot(r, r);
		ALLREDUCE("residual", part, both, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < n; i++)
			p[i] = r[i] + both[0] / (old[0] + 1e-300) * p[i];
		old[0] = both[0];
		if (turns % RESTART == 0)
			remove_slow_parts();
	}
	return turns;
}

int main(int argc, char **argv)
{
	start_program(argc, argv);
	n = (int)get_option("size", 400);
	x = make_array(n);
	b = make_array(n);
	r = make_array(n);
	p = make_array(n);
	q = make_array(n);
	for (int k = 0; k < DEFLATED; k++) {
		space[k] = make_array(n);
		for (int i = 0; i < n; i++)
			space[k][i] = cos((k + 1) * (rank * n + i) * M_PI / (ranks * n)) /
				      sqrt(ranks * n);
	}
	for (int i = 0; i < n; i++)
		x[i] = draw();
	for (long turn = get_option("steps", 14); turn > 0; turn--) {
		double report[8], all[8];

		/* A load that moves: some time steps are harder than others. */
		for (int i = 0; i < n; i++)
			b[i] = x[i] + sin(0.01 * (rank * n + i) + step) + 0.2 * draw();
		PASS("assemble");
		report[0] = compute_solution(ranks * n * (step % 3 ? 1e-4 : 1e-7));
		report[1] = compute_dot(x, x);
		REDUCE("report", report + 1, all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		end_step();
	}
	end_program();
	return 0;
}
