/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch and bound on a knapsack, a new one each step. An idle rank asks another for open nodes; a rank's credit is halved with each
 * gift and goes to rank 0 when the rank is idle, and once all credit is there, nothing is open. Compared with dynamic programming.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FIELDS = 3,
	MOST_GIVEN = 8,
	GIFT = 2 + FIELDS * MOST_GIVEN,
	MOST_ITEMS = 64,
	MOST_OPEN = 4096
};

struct node {
	double depth, weight, value;
};

static int items, capacity, open_nodes, weights[MOST_ITEMS], values[MOST_ITEMS];
static struct node open[MOST_OPEN];
static double best, credit, pool, expanded[8];
static bool is_asking, is_finished;

static int compare_weights(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Light items first: with equal profit above the weight these have the best ratio. */
static void make_problem(void)
{
	capacity = 0;
	for (int i = 0; i < items; i++)
		capacity += weights[i] = 10 + (int)(draw_common() * 40);
	qsort(weights, (size_t)items, sizeof(int), compare_weights);
	for (int i = 0; i < items; i++)
		values[i] = weights[i] + 7 + (int)(draw_common() * 6);
	capacity /= 2;
	best = credit = pool = expanded[0] = 0;
	is_asking = is_finished = false;
	open_nodes = 0;
	if (rank == 0) {
		open[open_nodes++] = (struct node){0, 0, 0};
		credit = 1;
	}
}

/* What is open could at most bring. */
static double find_bound(const struct node *node)
{
	double room = capacity - node->weight, value = node->value, ratio = 0;

	for (int i = (int)node->depth; i < items; i++)
		ratio = fmax(ratio, (double)values[i] / weights[i]);
	return value + room * ratio;
}

static void expand_nodes(int budget)
{
	while (open_nodes > 0 && budget-- > 0) {
		struct node node = open[--open_nodes];
		int i = (int)node.depth;

		best = fmax(best, node.value);
		expanded[0]++;
		if (i >= items || i < 0 || find_bound(&node) <= best || open_nodes + 2 > MOST_OPEN)
			continue;
		node.depth++;
		open[open_nodes++] = node;
		node.weight += weights[i];
		node.value += values[i];
		if (node.weight <= capacity)
			open[open_nodes++] = node;
	}
}

/* Half of the open nodes, the oldest, if there are any to spare. */
static void give_nodes(int to)
{
	double gift[GIFT * 2 + 64] = {0};
	int n = open_nodes > 3 && credit > 1e-12 ? open_nodes / 2 : 0;

	n = n > MOST_GIVEN ? MOST_GIVEN : n;
	gift[0] = n ? credit /= 2 : 0;
	gift[1] = best;
	memcpy(gift + 2, open, (size_t)n * sizeof(*open));
	open_nodes -= n;
	memmove(open, open + n, (size_t)open_nodes * sizeof(*open));
	SEND("give", gift, 2 + FIELDS * n, MPI_DOUBLE, to, 62, MPI_COMM_WORLD);
}

static bool has_message(int tag, MPI_Status *status)
{
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, status);
	return there;
}

static void handle_messages(void)
{
	double gift[GIFT * 2 + 64], back[2];
	MPI_Status s;
	int n;

	while (has_message(61, &s)) {
		MPI_Recv(&n, 1, MPI_INT, s.MPI_SOURCE, 61, MPI_COMM_WORLD, &s);
		give_nodes(s.MPI_SOURCE);
	}
	if (has_message(62, &s)) {
		MPI_Recv(gift, GIFT * 2, MPI_DOUBLE, s.MPI_SOURCE, 62, MPI_COMM_WORLD, &s);
		MPI_Get_count(&s, MPI_DOUBLE, &n);
		n = n < 2 ? 0 : (n - 2) / FIELDS;
		memcpy(open + open_nodes, gift + 2, (size_t)n * sizeof(*open));
		open_nodes += n;
		credit += gift[0];
		best = fmax(best, gift[1]);
		is_asking = false;
	}
	while (has_message(63, &s)) {
		MPI_Recv(back, 2, MPI_DOUBLE, s.MPI_SOURCE, 63, MPI_COMM_WORLD, &s);
		pool += back[0];
		best = fmax(best, back[1]);
	}
	if (has_message(64, &s)) {
		MPI_Recv(&n, 1, MPI_INT, 0, 64, MPI_COMM_WORLD, &s);
		is_finished = true;
	}
}

static void return_credit(void)
{
	double back[68] = {credit, best};

	credit = 0;
	if (rank == 0)
		pool += back[0];
	else
		SEND("credit", back, 2, MPI_DOUBLE, 0, 63, MPI_COMM_WORLD);
}

static void ask_for_nodes(void)
{
	int victim = (rank + 1 + (int)(draw() * (ranks - 1))) % ranks, had = open_nodes;

	usleep(400);
	SEND("ask", &had, 1, MPI_INT, victim, 61, MPI_COMM_WORLD);
	is_asking = true;
}

static void solve(void)
{
	MPI_Request ended = MPI_REQUEST_NULL;
	int all_ended = 0, one = 1;

	while (!all_ended) {
		if (open_nodes) {
			PASS("expand");
			expand_nodes(40);
		} else if (credit > 0) {
			return_credit();
		} else if (rank == 0 && pool == 1) {
			pool = 0;
			is_finished = true;
			for (int k = 1; k < ranks; k++)
				SEND("finished", &one, 1, MPI_INT, k, 64, MPI_COMM_WORLD);
		} else if (!is_asking && !is_finished) {
			ask_for_nodes();
		} else {
			usleep(100);
		}
		handle_messages();
		/* A rank that asked gets its answer before it leaves. */
		if (is_finished && !is_asking && ended == MPI_REQUEST_NULL)
			MPI_Ibarrier(MPI_COMM_WORLD, &ended);
		if (ended != MPI_REQUEST_NULL)
			MPI_Test(&ended, &all_ended, MPI_STATUS_IGNORE);
	}
}

static int solve_by_table(void)
{
	int *most = calloc((size_t)capacity + 1, sizeof(int)), answer;

	for (int i = 0; i < items; i++)
		for (int w = capacity; w >= weights[i]; w--)
			if (most[w - weights[i]] + values[i] > most[w])
				most[w] = most[w - weights[i]] + values[i];
	answer = most[capacity];
	free(most);
	return answer;
}

int main(int argc, char **argv)
{
	double mine[16] = {0}, all[16], sum[16];

	start_program(argc, argv);
	items = 18 + (int)get_option("size", 250) / 100;
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		make_problem();
		solve();
		mine[0] = best;
		PASS("agree");
		ALLREDUCE("best", mine, all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		REDUCE("expanded", expanded, sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (!rank && (all[0] != solve_by_table() || sum[0] < 1))
			fprintf(stderr, "step %d: %g is not the best, %d is\n", step, all[0],
				solve_by_table());
		end_step();
	}
	end_program();
	return 0;
}
