/* SPDX-License-Identifier: Apache-2.0 */
/* Items move between ranks by the running sum of their weights, and a histogram of them is counted in a window on all ranks. */
#include "heldout.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 12, BINS = 8 };

static int n, most, *sends, *takes, *send_at, *take_at;
static double *items, *moved;
static long *bins;
static MPI_Win window;

static void add_items(int more)
{
	for (int i = 0; i < more && n < most; i++)
		items[n++] = 0.1 + draw() * (1 + rank % 2);
}

/* Weights by class. */
static void weigh(double *w)
{
	memset(w, 0, CLASSES * sizeof(*w));
	for (int i = 0; i < n; i++)
		w[(int)(items[i] * 1000) % CLASSES] += items[i];
}

static double add_up(const double *w)
{
	double sum = 0;

	for (int k = 0; k < CLASSES; k++)
		sum += w[k];
	return sum;
}

/* An item goes to the rank in whose part of the whole weight it lies. */
static void move_items(double start, double whole)
{
	int out = 0, got = 0, k = 0;

	memset(sends, 0, (size_t)ranks * sizeof(int));
	for (int i = 0; i < n; i++) {
		double place = start * ranks / whole;

		k = place > k && place < ranks ? (int)place : k;
		sends[k]++;
		start += items[i];
	}
	ALLTOALL("amounts", sends, 1, MPI_INT, takes, MPI_COMM_WORLD);
	for (int j = 0; j < ranks; j++) {
		send_at[j] = out;
		take_at[j] = got;
		out += sends[j];
		got += takes[j];
	}
	if (got > most)
		got = most;
	CALL_("items", items, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Alltoallv(items, sends, send_at, c.type, moved, takes, take_at, MPI_DOUBLE,
			MPI_COMM_WORLD));
	n = got;
	memcpy(items, moved, (size_t)n * sizeof(double));
}

/* Each rank has some bins of the histogram. */
static void count_items(void)
{
	long one = 1, before;

	MPI_Win_lock_all(0, window);
	for (int i = 0; i < n; i += 8) {
		int bin = (int)(items[i] * 4) % (BINS * ranks);

		MPI_Fetch_and_op(&one, &before, MPI_LONG, bin / BINS, bin % BINS, MPI_SUM, window);
	}
	MPI_Win_flush_all(window);
	MPI_Win_unlock_all(window);
}

int main(int argc, char **argv)
{
	double mine[CLASSES * 2 + 64], before[CLASSES * 2 + 64] = {0}, upto[CLASSES * 2 + 64],
							    whole[CLASSES * 2 + 64];
	double fullest[8], all[8];

	start_program(argc, argv);
	n = 0;
	most = (int)get_option("size", 250) * 40;
	items = make_array(most);
	moved = make_array(most);
	sends = calloc((size_t)ranks * 8, sizeof(int));
	takes = calloc((size_t)ranks * 8, sizeof(int));
	send_at = calloc((size_t)ranks * 8, sizeof(int));
	take_at = calloc((size_t)ranks * 8, sizeof(int));
	MPI_Win_allocate(
		BINS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &bins, &window);
	memset(bins, 0, BINS * sizeof(long));
	add_items((int)get_option("size", 250));
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		PASS("weigh");
		add_items(4 + (int)(draw() * 8));
		weigh(mine);
		EXSCAN("before", mine, before, CLASSES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		SCAN("upto", mine, upto, CLASSES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		ALLREDUCE("whole", mine, whole, CLASSES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		PASS("move");
		move_items(rank ? add_up(before) : 0, add_up(whole));
		count_items();
		BARRIER("counted", MPI_COMM_WORLD);
		fullest[0] = 0;
		for (int k = 0; k < BINS; k++)
			fullest[0] = fmax(fullest[0], (double)bins[k] + 0.01 * draw());
		REDUCE("fullest", fullest, all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
		end_step();
	}
	MPI_Win_free(&window);
	end_program();
	return 0;
}
