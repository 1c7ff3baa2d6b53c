/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spectral elements on the unit square: implicit time steps of a heat equation, by conjugate gradients. Ranks sum what they have of
 * common nodes with persistent requests. A solution begins with its projection on the last ones. The amplitudes of five modes are
 * known, so that each solution can be checked.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 4, POINTS = ORDER + 1, BASIS = 4, MODES = 5, ROOM = 64, MOST_TURNS = 80 };

static const double places[POINTS] = {-1, -0.65465367070797714, 0, 0.65465367070797714, 1};
static const double weights[POINTS] = {0.1, 49.0 / 90, 32.0 / 45, 49.0 / 90, 0.1};
static const int waves[MODES][2] = {{1, 1}, {2, 1}, {1, 2}, {3, 2}, {2, 3}};
static const double rate = 0.02;

/* The nodes of one direction that this rank and its two neighbours have in common. */
struct faces {
	int size, peers[2];
	MPI_Request requests[4]; /* two sends, two receives */
	double *out[2], *in[2];
};

static MPI_Comm grid;
static struct faces columns, rows;
static int elements, side, size, dims[2], place[2], basis_size;
static double stiffness[POINTS][POINTS], width, height, dt = 0.1;
static double *mass, *diagonal, *shares, *is_inner, *modes[MODES], *u, *b, *r, *z, *p, *q, *change,
	*basis[BASIS];

/* The stiffness matrix of one direction on [-1, 1], from the derivatives of the polynomials at the nodes. */
static void compute_stiffness(void)
{
	double slopes[POINTS][POINTS];

	for (int i = 0; i < POINTS; i++)
		for (int k = 0; k < POINTS; k++) {
			double sum = 0;

			for (int l = 0; l < POINTS; l++) {
				double product = 1 / (places[k] - places[l]);

				for (int m = 0; m < POINTS && l != k; m++)
					if (m != k && m != l)
						product *= (places[i] - places[m]) /
							   (places[k] - places[m]);
				sum += l != k ? product : 0;
			}
			slopes[i][k] = sum;
		}
	for (int i = 0; i < POINTS; i++)
		for (int k = 0; k < POINTS; k++)
			for (int l = 0; l < POINTS; l++)
				stiffness[i][k] += weights[l] * slopes[l][i] * slopes[l][k];
}

static void init_faces(struct faces *f, int direction, int tag)
{
	f->size = side;
	MPI_Cart_shift(grid, direction, 1, &f->peers[0], &f->peers[1]);
	for (int k = 0; k < 2; k++) {
		f->out[k] = make_array(side);
		f->in[k] = make_array(side);
		MPI_Send_init(
			f->out[k], side, MPI_DOUBLE, f->peers[k], tag + k, grid, &f->requests[k]);
		MPI_Recv_init(f->in[k], side, MPI_DOUBLE, f->peers[k], tag + 1 - k, grid,
			&f->requests[2 + k]);
	}
}

/* first: the distance from a node to the next one of a face; second: from the first face to the other. */
static void exchange_faces(const char *site, struct faces *f, double *v, int first, int second)
{
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < side; i++)
			f->out[k][i] = v[i * first + k * second];
	MPI_Startall(2, f->requests + 2);
	for (int k = 0; k < 2; k++)
		if (f->peers[k] != MPI_PROC_NULL)
			CALL_(site, f->out[k], f->size, MPI_DOUBLE, MPI_OP_NULL, f->peers[k], k,
				MPI_Start(&f->requests[k]));
	MPI_Waitall(4, f->requests, MPI_STATUSES_IGNORE);
	for (int k = 0; k < 2; k++)
		for (int i = 0; f->peers[k] != MPI_PROC_NULL && i < side; i++)
			v[i * first + k * second] += f->in[k][i];
}

/* What ranks have of a common node becomes the sum of it; corners come with the second direction. */
static void sum_nodes(double *v)
{
	exchange_faces("columns", &columns, v, side, side - 1);
	exchange_faces("rows", &rows, v, 1, side * (side - 1));
}

/* out = (M / dt + rate K) v on the inner nodes. */
static void apply_operator(const double *v, double *out)
{
	double x = rate * height / width, y = rate * width / height;
	int n = POINTS;

	memset(out, 0, (size_t)size * sizeof(double));
	PASS("operator");
	for (int e = 0; e < elements * elements; e++) {
		int at = e / elements * ORDER * side + e % elements * ORDER;

		for (int i = 0; i < n; i++)
			for (int k = 0; k < n; k++) {
				double sum = 0;

				for (int l = 0; l < n; l++)
					sum += x * weights[i] * stiffness[k][l] *
						       v[at + i * side + l] +
					       y * weights[k] * stiffness[i][l] *
						       v[at + l * side + k];
				out[at + i * side + k] += sum + weights[i] * weights[k] * width *
									height / 4 / dt *
									v[at + i * side + k];
			}
	}
	sum_nodes(out);
	for (int i = 0; i < size; i++)
		out[i] *= is_inner[i];
}

/* This rank's part of a product: a common node counts once over all ranks. */
static double compute_dot(const double *a, const double *c)
{
	double sum = 0;

	for (int i = 0; i < size; i++)
		sum += shares[i] * a[i] * c[i];
	return sum;
}

static double get_node_position(int direction, int i)
{
	int cells = dims[direction] * elements, e = place[direction] * elements + i / ORDER;

	return (e + (places[i % ORDER] + 1) / 2) / cells;
}

static void init_nodes(void)
{
	width = 1.0 / (dims[0] * elements);
	height = 1.0 / (dims[1] * elements);
	for (int e = 0; e < elements * elements; e++)
		for (int k = 0; k < POINTS * POINTS; k++) {
			int i = k / POINTS, j = k % POINTS;
			int at = (e / elements * ORDER + i) * side + e % elements * ORDER + j;
			double m = weights[i] * weights[j] * width * height / 4;

			mass[at] += m;
			shares[at] = 1;
			diagonal[at] +=
				m / dt +
				rate * (height / width * weights[i] * stiffness[j][j] +
					       width / height * weights[j] * stiffness[i][i]);
		}
	sum_nodes(mass);
	sum_nodes(diagonal);
	sum_nodes(shares);
	for (int i = 0; i < size; i++) {
		double x = get_node_position(0, i % side), y = get_node_position(1, i / side);

		shares[i] = 1 / shares[i];
		is_inner[i] = x > 1e-9 && x < 1 - 1e-9 && y > 1e-9 && y < 1 - 1e-9;
		for (int k = 0; k < MODES; k++)
			modes[k][i] = sin(M_PI * waves[k][0] * x) * sin(M_PI * waves[k][1] * y) *
				      is_inner[i];
	}
}

static void init_grid(void)
{
	int wraps[2] = {0, 0};
	double **all[] = {&mass, &diagonal, &shares, &is_inner, &u, &b, &r, &z, &p, &q, &change};

	elements = 2 + (int)get_option("size", 250) / 200;
	side = elements * ORDER + 1;
	size = side * side;
	MPI_Dims_create(ranks, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, wraps, 0, &grid);
	MPI_Cart_coords(grid, rank, 2, place);
	for (int k = 0; k < 11; k++)
		*all[k] = make_array(size);
	for (int k = 0; k < MODES; k++)
		modes[k] = make_array(size);
	for (int k = 0; k < BASIS; k++)
		basis[k] = make_array(size);
	init_faces(&columns, 0, 31);
	init_faces(&rows, 1, 41);
	compute_stiffness();
	init_nodes();
}

/* change = the best that the basis has for b; r = what is left of b. */
static void project_start(void)
{
	double parts[ROOM] = {0}, sums[ROOM] = {0};

	memset(change, 0, (size_t)size * sizeof(double));
	memcpy(r, b, (size_t)size * sizeof(double));
	for (int k = 0; k < basis_size; k++)
		parts[k] = compute_dot(basis[k], b);
	if (!basis_size)
		return;
	ALLREDUCE("project", parts, sums, basis_size, MPI_DOUBLE, MPI_SUM, grid);
	for (int k = 0; k < basis_size; k++)
		for (int i = 0; i < size; i++)
			change[i] += sums[k] * basis[k][i];
	apply_operator(change, q);
	for (int i = 0; i < size; i++)
		r[i] -= q[i];
}

/* Adds a solution to the basis; a full one is emptied first. */
static void extend_basis(const double *v)
{
	double parts[ROOM] = {0}, sums[ROOM] = {0}, *next;

	if (basis_size == BASIS)
		basis_size = 0;
	apply_operator(v, q);
	for (int k = 0; k < basis_size; k++)
		parts[k] = compute_dot(basis[k], q);
	parts[basis_size] = compute_dot(v, q);
	ALLREDUCE("extend", parts, sums, basis_size + 1, MPI_DOUBLE, MPI_SUM, grid);
	next = basis[basis_size];
	memcpy(next, v, (size_t)size * sizeof(double));
	for (int k = 0; k < basis_size; k++) {
		sums[basis_size] -= sums[k] * sums[k];
		for (int i = 0; i < size; i++)
			next[i] -= sums[k] * basis[k][i];
	}
	/* A solution that the basis has already adds nothing. */
	if (!(sums[basis_size] > 1e-9))
		return;
	for (int i = 0; i < size; i++)
		next[i] /= sqrt(sums[basis_size]);
	basis_size++;
}

/* u = the solution for b. Returns the iterations. */
static int compute_solution(double tolerance)
{
	double parts[ROOM] = {0}, sums[ROOM] = {0}, before;
	int turns = 0;

	project_start();
	for (int i = 0; i < size; i++)
		p[i] = z[i] = r[i] / diagonal[i];
	parts[0] = compute_dot(r, z);
	parts[1] = compute_dot(r, r);
	ALLREDUCE("residual", parts, sums, 2, MPI_DOUBLE, MPI_SUM, grid);
	while (sums[1] > tolerance * tolerance && turns++ < MOST_TURNS) {
		double curve[ROOM] = {0}, all[ROOM] = {0}, alpha;

		before = sums[0];
		apply_operator(p, q);
		curve[0] = compute_dot(p, q);
		ALLREDUCE("curvature", curve, all, 1, MPI_DOUBLE, MPI_SUM, grid);
		alpha = before / all[0];
		for (int i = 0; i < size; i++) {
			change[i] += alpha * p[i];
			r[i] -= alpha * q[i];
			z[i] = r[i] / diagonal[i];
		}
		parts[0] = compute_dot(r, z);
		parts[1] = compute_dot(r, r);
		ALLREDUCE("residual", parts, sums, 2, MPI_DOUBLE, MPI_SUM, grid);
		for (int i = 0; i < size; i++)
			p[i] = z[i] + sums[0] / before * p[i];
	}
	extend_basis(change);
	return turns;
}

/* b for the amplitudes now and before: what the solution must get in this step. */
static void compute_source(const double *now, const double *before)
{
	PASS("source");
	for (int i = 0; i < size; i++) {
		double sum = u[i] / dt;

		for (int k = 0; k < MODES; k++) {
			double squares = waves[k][0] * waves[k][0] + waves[k][1] * waves[k][1];

			sum += modes[k][i] *
			       ((now[k] - before[k]) / dt + rate * M_PI * M_PI * squares * now[k]);
		}
		b[i] = mass[i] * sum * is_inner[i];
	}
}

static void write_checkpoint(const double *all)
{
	FILE *file = tmpfile();

	if (!file)
		return;
	fwrite(all, sizeof(double), (size_t)(size * ranks), file);
	fclose(file);
}

int main(int argc, char **argv)
{
	double now[ROOM] = {0}, before[ROOM] = {0}, moved[ROOM] = {0}, most[ROOM] = {0},
	       errors[ROOM] = {0}, all[ROOM] = {0}, *image;
	long turns, iterations = 0;

	start_program(argc, argv);
	turns = get_option("steps", 30);
	init_grid();
	image = make_array(size * ranks);
	while (step < turns) {
		memcpy(before, now, sizeof(before));
		for (int k = 0; rank == 0 && k < MODES; k++)
			now[k] += (draw() - 0.5) * exp(-step * 0.12) + (step ? 0 : 1.0 / (1 + k));
		BCAST("amplitudes", now, MODES, MPI_DOUBLE, 0, grid);
		compute_source(now, before);
		iterations += compute_solution(1e-5);
		moved[0] = errors[0] = errors[1] = 0;
		for (int i = 0; i < size; i++) {
			double exact = 0;

			for (int k = 0; k < MODES; k++)
				exact += now[k] * modes[k][i];
			errors[0] = fmax(errors[0], fabs(change[i] - exact));
			errors[1] = fmax(errors[1], fabs(exact));
			moved[0] = fmax(moved[0], fabs(change[i] - u[i]));
		}
		memcpy(u, change, (size_t)size * sizeof(double));
		ALLREDUCE("moved", moved, most, 1, MPI_DOUBLE, MPI_MAX, grid);
		if (step % 3 == 2) {
			REDUCE("errors", errors, all, 2, MPI_DOUBLE, MPI_MAX, 0, grid);
			if (!rank && !(all[0] < 0.03 * all[1]))
				fprintf(stderr, "step %d: error %g of %g\n", step, all[0], all[1]);
		}
		if (step % 5 == 4) {
			GATHER("image", u, size, MPI_DOUBLE, image, 0, grid);
			if (!rank)
				write_checkpoint(image);
		}
		end_step();
		/* Nothing moves any more. */
		if (step > turns - 4 && most[0] < 0.03)
			break;
	}
	if (!rank)
		printf("result %.12g %.12g %ld %d\n", u[size / 2], all[0], iterations, step);
	for (int k = 0; k < 4; k++) {
		MPI_Request_free(&columns.requests[k]);
		MPI_Request_free(&rows.requests[k]);
	}
	MPI_Comm_free(&grid);
	end_program();
	return 0;
}
