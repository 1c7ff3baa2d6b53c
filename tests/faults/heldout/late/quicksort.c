/* SPDX-License-Identifier: Apache-2.0 */
/* Quicksort over ranks: each level divides the communicator in two by a pivot, and the parts get new ones. */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n, most, counts[64], takes[64], send_at[64], take_at[64];
static double *items, *moved;

static int compare_items(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double find_middle(double *v, int size)
{
	qsort(v, (size_t)size, sizeof(*v), compare_items);
	return v[size / 2];
}

/* Rank 0 of the part takes the middle of three items of each rank. */
static double choose_pivot(MPI_Comm comm, int parts)
{
	double three[80] = {0}, all[600] = {0}, pivot[80] = {0};

	for (int i = 0; i < 3; i++)
		three[i] = n ? items[(int)(draw() * n)] : 0.5;
	GATHER("samples", three, 3, MPI_DOUBLE, all, 0, comm);
	pivot[0] = find_middle(all, 3 * parts);
	BCAST("pivot", pivot, 1, MPI_DOUBLE, 0, comm);
	return pivot[0];
}

/* Items up to the pivot come first; returns how many. */
static int part_items(double pivot)
{
	int low = 0;

	for (int i = 0; i < n; i++)
		if (items[i] <= pivot) {
			double x = items[i];

			items[i] = items[low];
			items[low++] = x;
		}
	return low;
}

static void move_items(MPI_Comm comm, int me, int parts, int low)
{
	int half = parts / 2, out = 0, got = 0;

	memset(counts, 0, sizeof(counts));
	counts[me % half] = low;
	counts[half + me % (parts - half)] = n - low;
	CALL_("counts", NULL, 1, MPI_INT, MPI_OP_NULL, -1, -1,
		MPI_Alltoall(counts, c.n, c.type, takes, 1, MPI_INT, comm));
	for (int k = 0; k < parts; k++) {
		send_at[k] = out;
		take_at[k] = got;
		out += counts[k];
		got += takes[k];
	}
	got = got > most ? most : got;
	CALL_("items", items, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Alltoallv(
			items, counts, send_at, c.type, moved, takes, take_at, MPI_DOUBLE, comm));
	n = got;
	memcpy(items, moved, (size_t)n * sizeof(*items));
}

static void sort_items(void)
{
	MPI_Comm comm, next;
	int me, parts;

	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	for (;;) {
		MPI_Comm_rank(comm, &me);
		MPI_Comm_size(comm, &parts);
		if (parts == 1)
			break;
		PASS("level");
		move_items(comm, me, parts, part_items(choose_pivot(comm, parts)));
		CALL_("split", NULL, 0, MPI_BYTE, MPI_OP_NULL, -1, -1,
			MPI_Comm_split(comm, me >= parts / 2, me, &next));
		MPI_Comm_free(&comm);
		comm = next;
	}
	MPI_Comm_free(&comm);
	qsort(items, (size_t)n, sizeof(*items), compare_items);
}

static void add_up(double *sums)
{
	sums[0] = n;
	sums[1] = 0;
	for (int i = 0; i < n; i++)
		sums[1] += items[i];
}

int main(int argc, char **argv)
{
	double mine[80] = {0}, before[80], after_[80], last[80] = {0}, upto[80] = {0},
	       full[80] = {0};

	start_program(argc, argv);
	most = (int)get_option("size", 250) * 40;
	items = make_array(most);
	moved = make_array(most);
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		n = (int)get_option("size", 250) * 3 + (int)(draw() * 40);
		for (int i = 0; i < n; i++)
			items[i] = pow(draw(), 1 + step % 3) + 1e-9;
		add_up(mine);
		ALLREDUCE("before", mine, before, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		sort_items();
		add_up(mine);
		PASS("check");
		ALLREDUCE("after", mine, after_, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		last[0] = n ? items[n - 1] : 0;
		EXSCAN("order", last, upto, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		if (rank && n && !(items[0] >= upto[0]))
			fprintf(stderr, "step %d: rank %d is not in order\n", step, rank);
		if (before[0] != after_[0] || !(fabs(before[1] - after_[1]) < 1e-6 * before[1]))
			fprintf(stderr, "step %d: items are lost\n", step);
		mine[0] = n;
		REDUCE("fullest", mine, full, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
		end_step();
	}
	end_program();
	return 0;
}
