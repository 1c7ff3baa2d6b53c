/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shortest paths from a vertex that changes with each step, in a graph whose vertices are dealt to the ranks. A round sends what is
 * shorter now: in messages of which the receivers do not know (MPI_Issend, MPI_Ibarrier) if few vertices changed, by MPI_Alltoallv if
 * more did, and if very many did, each rank reads all distances.
 */
#include "../heldout.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEGREE = 3, CHAIN = 7, BINS = 10, MOST_RANKS = 64, ROOM = 2 * BINS + 64 };

struct edge {
	int to;
	double length;
};

static int vertices, total, core, first[4096], rounds[3];
static struct edge *edges;
static double *lengths, *distances, *outbox, *inbox;
static char *is_active;
static int counts[MOST_RANKS], starts[MOST_RANKS], takes[MOST_RANKS], take_starts[MOST_RANKS];

static void add_edge(int from, int to, double length, int *used)
{
	if (from % ranks == rank)
		edges[first[from / ranks] + used[from / ranks]++] = (struct edge){to, length};
}

/* All edges in the order in which all ranks draw them: a core with hubs, and chains that hang from it. */
static void make_edges(int *ends, double *length, int count)
{
	for (int i = 0; i < count; i++) {
		int v = i / DEGREE, u = (int)(core * pow(draw_common(), 2));

		if (v >= core)
			u = v - (total - core) / CHAIN;
		else if (i % DEGREE == 0 && v)
			u = v - 1;
		ends[2 * i] = v;
		ends[2 * i + 1] = u < 0 ? 0 : u;
		length[i] = 1 + (int)(draw_common() * 1000) / 1000.0 * (v < core ? 1 : 3);
	}
}

static void init_graph(void)
{
	int count, *ends, *used = calloc((size_t)vertices, sizeof(int));
	double *length;

	core = total * 4 / 5;
	count = total * DEGREE;
	ends = calloc((size_t)count * 2, sizeof(int));
	length = make_array(count);
	make_edges(ends, length, count);
	for (int i = 0; i < 2 * count; i++)
		if (ends[i] % ranks == rank)
			first[ends[i] / ranks + 1]++;
	for (int v = 0; v < vertices; v++)
		first[v + 1] += first[v];
	edges = calloc((size_t)first[vertices] + 1, sizeof(*edges));
	outbox = make_array(2 * first[vertices]);
	/* What comes in is at most all that all ranks have. */
	inbox = make_array(4 * count);
	for (int i = 0; i < count; i++) {
		add_edge(ends[2 * i], ends[2 * i + 1], length[i], used);
		add_edge(ends[2 * i + 1], ends[2 * i], length[i], used);
	}
	free(ends);
	free(length);
	free(used);
}

static bool update_distance(double vertex, double length)
{
	int v = vertex >= 0 && vertex < total ? (int)vertex : -1;

	if (v % ranks != rank || !(length < distances[v / ranks]))
		return false;
	distances[v / ranks] = length;
	is_active[v / ranks] = 1;
	return true;
}

/* Pairs of a vertex and its length, by rank; those of this rank too. */
static void fill_outbox(void)
{
	int place[MOST_RANKS], sum = 0;

	memset(counts, 0, sizeof(counts));
	for (int v = 0; v < vertices; v++)
		for (int i = first[v]; is_active[v] && i < first[v + 1]; i++)
			counts[edges[i].to % ranks] += 2;
	for (int k = 0; k < ranks; k++) {
		place[k] = starts[k] = sum;
		sum += counts[k];
	}
	for (int v = 0; v < vertices; v++) {
		for (int i = first[v]; is_active[v] && i < first[v + 1]; i++) {
			int *at = &place[edges[i].to % ranks];

			outbox[(*at)++] = edges[i].to;
			outbox[(*at)++] = distances[v] + edges[i].length;
		}
		is_active[v] = 0;
	}
}

static void read_pairs(const double *pairs, int size)
{
	for (int i = 0; i + 1 < size; i += 2)
		update_distance(pairs[i], pairs[i + 1]);
}

/* Messages to those alone that get one; all have come once all ranks' messages are received. */
static void emit_few(void)
{
	MPI_Request sends[MOST_RANKS], ended = MPI_REQUEST_NULL;
	int all_ended = 0, there, sent, n;
	MPI_Status s;

	for (int k = 0; k < ranks; k++) {
		double *to_k = outbox + starts[k];

		sends[k] = MPI_REQUEST_NULL;
		if (k == rank || !counts[k])
			continue;
		ISSEND("few", to_k, counts[k], MPI_DOUBLE, k, 95, MPI_COMM_WORLD, &sends[k]);
	}
	read_pairs(outbox + starts[rank], counts[rank]);
	while (!all_ended) {
		MPI_Iprobe(MPI_ANY_SOURCE, 95, MPI_COMM_WORLD, &there, &s);
		if (there) {
			MPI_Get_count(&s, MPI_DOUBLE, &n);
			MPI_Recv(inbox, n, MPI_DOUBLE, s.MPI_SOURCE, 95, MPI_COMM_WORLD, &s);
			read_pairs(inbox, n);
		} else {
			usleep(30);
		}
		if (ended != MPI_REQUEST_NULL) {
			MPI_Test(&ended, &all_ended, MPI_STATUS_IGNORE);
			continue;
		}
		MPI_Testall(ranks, sends, &sent, MPI_STATUSES_IGNORE);
		if (sent)
			MPI_Ibarrier(MPI_COMM_WORLD, &ended);
	}
}

static void emit_many(void)
{
	int sum = 0, n;

	CALL_("counts", NULL, 1, MPI_INT, MPI_OP_NULL, -1, -1,
		MPI_Alltoall(counts, c.n, c.type, takes, 1, MPI_INT, MPI_COMM_WORLD));
	for (int k = 0; k < ranks; k++) {
		take_starts[k] = sum;
		sum += takes[k];
	}
	n = starts[ranks - 1] + counts[ranks - 1];
	CALL_("pairs", outbox, n, MPI_DOUBLE, MPI_OP_NULL, -1, -1,
		MPI_Alltoallv(outbox, counts, starts, c.type, inbox, takes, take_starts, MPI_DOUBLE,
			MPI_COMM_WORLD));
	read_pairs(inbox, sum);
}

/* Each rank has all distances and looks at its own vertices' edges. */
static void read_all(void)
{
	memset(is_active, 0, (size_t)vertices);
	ALLGATHER("lengths", distances, vertices, MPI_DOUBLE, lengths, MPI_COMM_WORLD);
	for (int v = 0; v < vertices; v++)
		for (int i = first[v]; i < first[v + 1]; i++) {
			int u = edges[i].to;
			double length = lengths[u % ranks * vertices + u / ranks];

			update_distance(v * ranks + rank, length + edges[i].length);
		}
}

/* How many vertices have changed, how many edges these have, on all ranks. */
static double add_changes(double *all)
{
	double mine[8] = {0};

	for (int v = 0; v < vertices; v++) {
		mine[0] += is_active[v];
		mine[1] += is_active[v] ? first[v + 1] - first[v] : 0;
	}
	ALLREDUCE("changed", mine, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return all[0];
}

static void find_paths(int start)
{
	double all[8] = {0};

	for (int v = 0; v < vertices; v++)
		distances[v] = HUGE_VAL;
	memset(is_active, 0, (size_t)vertices);
	update_distance(start, 0);
	for (int turn = 0; add_changes(all) > 0 && turn < total; turn++) {
		PASS("round");
		if (all[1] > total * DEGREE / 3.0) {
			read_all();
			rounds[2]++;
			continue;
		}
		fill_outbox();
		if (all[0] <= 4 * ranks)
			emit_few();
		else
			emit_many();
		rounds[all[0] <= 4 * ranks ? 0 : 1]++;
	}
}

/* No edge may lead to a shorter path. Returns how many do. */
static int check_paths(void)
{
	int bad = 0;

	ALLGATHER("audit", distances, vertices, MPI_DOUBLE, lengths, MPI_COMM_WORLD);
	for (int v = 0; v < vertices; v++)
		for (int i = first[v]; i < first[v + 1]; i++) {
			int u = edges[i].to;

			bad += !(distances[v] <=
				 lengths[u % ranks * vertices + u / ranks] + edges[i].length);
		}
	return bad;
}

int main(int argc, char **argv)
{
	double bins[ROOM], all[ROOM] = {0}, start[8] = {0}, far[8] = {0}, top[8] = {0}, sums[8],
			   total_sums[8] = {0};

	start_program(argc, argv);
	vertices = (int)get_option("size", 250) * 2;
	total = vertices * ranks;
	distances = make_array(vertices);
	lengths = make_array(total);
	is_active = calloc((size_t)vertices, 1);
	init_graph();
	for (long turns = get_option("steps", 30); turns > 0; turns--) {
		int bad = 0;

		/* Rank 0 chooses where the next search begins: in the core, or at a chain's end. */
		if (rank == 0)
			start[0] = (int)(draw() * core);
		if (rank == 0 && draw() < 0.3)
			start[0] = total - 1 - (int)(draw() * 20);
		start[1] = step;
		BCAST("start", start, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		find_paths((int)start[0]);
		PASS("sum");
		memset(bins, 0, sizeof(bins));
		far[0] = sums[0] = sums[1] = 0;
		for (int v = 0; v < vertices; v++) {
			far[0] = fmax(far[0], distances[v]);
			bins[(int)fmax(0, fmin(distances[v], BINS - 1))]++;
			sums[0] += distances[v];
			sums[1] += isfinite(distances[v]);
		}
		ALLREDUCE("bins", bins, all, BINS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		ALLREDUCE("far", far, top, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		if (step % 4 == 1)
			bad = check_paths();
		REDUCE("sums", sums, total_sums, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
		if (bad || (!rank && total_sums[1] != total))
			fprintf(stderr, "step %d: rank %d has %d bad paths\n", step, rank, bad);
		end_step();
	}
	if (!rank)
		printf("result %.17g %g, %d %d %d\n", total_sums[0], top[0], rounds[0], rounds[1],
			rounds[2]);
	end_program();
	return 0;
}
