/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline of filters: lists of changing length go from rank to rank, and each rank asks how long the next one is. */
#include "heldout.h"
#include <math.h>
#include <string.h>

enum { LISTS = 3 };

static int size;
static double *items, kept;

static int make_list(void)
{
	int n = size + (int)(draw() * size);

	for (int i = 0; i < n; i++)
		items[i] = 4 * draw();
	return n;
}

static int take_list(void)
{
	MPI_Status s;
	int n;

	MPI_Probe(rank - 1, 71, MPI_COMM_WORLD, &s);
	MPI_Get_count(&s, MPI_DOUBLE, &n);
	if (n == MPI_UNDEFINED || n > 4 * size)
		n = 4 * size;
	MPI_Recv(items, n, MPI_DOUBLE, rank - 1, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	return n;
}

/* Drops some, and changes the rest. */
static int filter_list(int n)
{
	int m = 0;

	for (int i = 0; i < n; i++)
		if (draw() > 0.1 || i == 0)
			items[m++] = sqrt(1 + items[i] * items[i]) - 0.3 * draw();
	return m;
}

int main(int argc, char **argv)
{
	double answer[8], number[8], all[8], *report;

	start_program(argc, argv);
	size = (int)get_option("size", 250);
	items = make_array(4 * size);
	report = make_array(ranks);
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		kept = 0;
		for (int list = 0; list < LISTS; list++) {
			int n = rank ? take_list() : make_list();

			PASS("filter");
			n = filter_list(n);
			kept += n;
			if (rank < ranks - 1) {
				SEND("pass", items, n, MPI_DOUBLE, rank + 1, 71, MPI_COMM_WORLD);
				continue;
			}
			answer[0] = 0;
			for (int i = 0; i < n; i++)
				answer[0] += items[i] / n;
			SEND("answer", answer, 1, MPI_DOUBLE, 0, 72, MPI_COMM_WORLD);
		}
		for (int list = 0; rank == 0 && list < LISTS; list++)
			MPI_Recv(answer, 1, MPI_DOUBLE, ranks - 1, 72, MPI_COMM_WORLD,
				MPI_STATUS_IGNORE);
		number[0] = kept;
		ALLREDUCE("kept", number, all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		if (step % 6 == 5) {
			PASS("report");
			GATHER("report", number, 1, MPI_DOUBLE, report, 0, MPI_COMM_WORLD);
		}
		end_step();
	}
	end_program();
	return 0;
}
