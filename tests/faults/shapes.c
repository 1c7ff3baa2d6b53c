/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that are no training, with one fault each (run by faults.py). The rules were only checked with them: they are the held-out set.
 *
 *	shapes shape=ring|tree|sort|phases [KEY=VALUE ...]
 *
 * steps, elements, seed; fault, rank, step, pick: what goes wrong, where and when; pick chooses the call. The rank at fault writes what it
 * does, as JSON, to stderr.
 */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ELEMENTS_MAX 65536
#define RANKS_MAX 16

static int rank, size, step, steps = 20, elements = 2048, frank = -1, fstep = -1, pick;
static char fault[24] = "none", shape[16] = "ring";
static unsigned seed = 1;
static MPI_Comm node, heads;
static void (*mark)(void);
static float a[ELEMENTS_MAX], b[ELEMENTS_MAX], c[ELEMENTS_MAX];

/* Arguments of a call; a fault changes them. */
struct given {
	int count, times;
	MPI_Datatype type;
	MPI_Op op;
};

static float make_noise(unsigned x)
{
	x ^= seed * 2654435761u;
	x ^= x >> 16;
	x *= 2246822519u;
	x ^= x >> 13;
	x *= 3266489917u;
	x ^= x >> 16;
	return (float)(x & 0xffffff) / 8388608.0f - 1.0f;
}

static void fill(float *x, int n, unsigned salt)
{
	for (int i = 0; i < n; i++)
		x[i] = make_noise((unsigned)(step * 65537 + rank * 257 + i) ^ salt << 20);
}

static void say_truth(const char *api)
{
	fprintf(stderr,
		"TRUTH {\"fault\": \"%s\", \"rank\": %d, \"step\": %d, \"site\": \"\", \"api\": "
		"\"%s\", \"pick\": %d}\n",
		fault, rank, step, api, pick);
	fflush(stderr);
}

static bool is_here(const char *what, int site, int sites)
{
	return rank == frank && pick % sites == site && !strcmp(what, fault);
}

static struct given give(int n, int site, int sites, const char *api)
{
	struct given g = {n, 1, MPI_FLOAT, MPI_SUM};

	if (step != fstep)
		return g;
	if (is_here("skip", site, sites))
		g.times = 0;
	else if (is_here("extra", site, sites))
		g.times = 2;
	else if (is_here("count", site, sites))
		g.count = n > 1 ? n / 2 : 2;
	else if (is_here("dtype", site, sites))
		g.type = MPI_INT;
	else if (is_here("redop", site, sites))
		g.op = MPI_MAX;
	else
		return g;
	say_truth(api);
	return g;
}

static void spoil(float *x, int n, int site, int sites, const char *api)
{
	static float before[ELEMENTS_MAX];
	bool now = step == fstep;

	if (now && is_here("nan", site, sites))
		x[n / 2] = NAN;
	else if (now && is_here("inf", site, sites))
		x[n / 2] = INFINITY;
	else if (now && is_here("spike", site, sites))
		x[n / 2] = 1e6f;
	else if (now && is_here("stale", site, sites))
		memcpy(x, before, (size_t)n * sizeof(*x));
	else if (step >= fstep && is_here("zero", site, sites))
		memset(x, 0, (size_t)n * sizeof(*x));
	else
		now = false;
	if (now || (step == fstep && is_here("zero", site, sites)))
		say_truth(api);
	if (is_here("stale", site, sites))
		memcpy(before, x, (size_t)n * sizeof(*x));
}

/* A ring: blocks go around, then all agree on a residual. */
static void step_ring(void)
{
	int next = (rank + 1) % size, previous = (rank + size - 1) % size;
	struct given g;

	for (int turn = 0; turn < 2; turn++) {
		fill(a, elements, (unsigned)turn);
		spoil(a, elements, turn, 3, "MPI_Sendrecv");
		MPI_Sendrecv(a, elements, MPI_FLOAT, next, 3, b, elements, MPI_FLOAT, previous, 3,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	fill(a, elements, 5);
	spoil(a, elements, 2, 3, "MPI_Allreduce");
	g = give(elements, 0, 1, "MPI_Allreduce");
	while (g.times--)
		MPI_Allreduce(a, b, g.count, g.type, g.op, MPI_COMM_WORLD);
}

/* Two levels: within a node, between the first ranks of the nodes, and back. */
static void step_tree(void)
{
	struct given g = give(elements, 0, 2, "MPI_Allreduce");

	fill(a, elements, 1);
	spoil(a, elements, 0, 2, "MPI_Allreduce");
	while (g.times--)
		MPI_Allreduce(a, b, g.count, g.type, g.op, node);
	if (heads != MPI_COMM_NULL)
		MPI_Allreduce(b, c, elements, MPI_FLOAT, MPI_SUM, heads);
	MPI_Bcast(c, elements, MPI_FLOAT, 0, node);
	fill(a, 64, 2);
	spoil(a, 64, 1, 2, "MPI_Allreduce");
	g = give(64, 1, 2, "MPI_Allreduce");
	while (g.times--)
		MPI_Allreduce(a, b, g.count, g.type, g.op, MPI_COMM_WORLD);
}

/* Buckets of changing sizes change hands. */
static void step_sort(void)
{
	int out[RANKS_MAX], in[RANKS_MAX], out_at[RANKS_MAX], in_at[RANKS_MAX], sent = 0, got = 0;
	struct given g;

	for (int i = 0; i < size; i++) {
		out[i] = 16 + (step * 7 + rank * 5 + i * 3) % 48;
		out_at[i] = sent;
		sent += out[i];
	}
	MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
	for (int i = 0; i < size; i++) {
		in_at[i] = got;
		got += in[i];
	}
	fill(a, sent, 1);
	spoil(a, sent, 0, 2, "MPI_Alltoallv");
	MPI_Alltoallv(a, out, out_at, MPI_FLOAT, b, in, in_at, MPI_FLOAT, MPI_COMM_WORLD);
	fill(a, elements, 2);
	spoil(a, elements, 1, 2, "MPI_Allreduce");
	g = give(elements, 0, 1, "MPI_Allreduce");
	while (g.times--)
		MPI_Allreduce(a, b, g.count, g.type, g.op, MPI_COMM_WORLD);
}

/* Shards are reduced and gathered; each fifth step is an evaluation besides. */
static void step_phases(void)
{
	int n = elements / size;
	struct given g = give(n, 0, 2, "MPI_Reduce_scatter_block");

	fill(a, n * size, 1);
	spoil(a, n * size, 0, 2, "MPI_Reduce_scatter_block");
	while (g.times--)
		MPI_Reduce_scatter_block(a, b, g.count, g.type, g.op, MPI_COMM_WORLD);
	for (int i = 0; i < n; i++)
		b[i] = 0.5f * b[i];
	MPI_Allgather(b, n, MPI_FLOAT, c, n, MPI_FLOAT, MPI_COMM_WORLD);
	fill(a, 256, 3);
	spoil(a, 256, 1, 2, "MPI_Allreduce");
	g = give(256, 1, 2, "MPI_Allreduce");
	while (g.times--)
		MPI_Allreduce(a, b, g.count, g.type, g.op, MPI_COMM_WORLD);
	if (step % 5 == 4)
		MPI_Allreduce(c, a, 32, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
}

static void leave(void)
{
	if (step != fstep || rank != frank)
		return;
	if (strcmp(fault, "sleep") == 0) {
		say_truth("");
		for (;;)
			pause();
	} else if (strcmp(fault, "exits") == 0) {
		say_truth("");
		_exit(3);
	} else if (strcmp(fault, "killed") == 0) {
		say_truth("");
		raise(SIGKILL);
	}
}

static void take_option(const char *s)
{
	sscanf(s, "shape=%15s", shape);
	sscanf(s, "fault=%23s", fault);
	sscanf(s, "steps=%d", &steps);
	sscanf(s, "elements=%d", &elements);
	sscanf(s, "seed=%u", &seed);
	sscanf(s, "rank=%d", &frank);
	sscanf(s, "step=%d", &fstep);
	sscanf(s, "pick=%d", &pick);
}

int main(int argc, char **argv)
{
	void (*const turn[])(void) = {step_ring, step_tree, step_sort, step_phases};
	static const char *const name[] = {"ring", "tree", "sort", "phases"};
	int which = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 1; i < argc; i++)
		take_option(argv[i]);
	for (int i = 0; i < 4; i++)
		which = strcmp(name[i], shape) ? which : i;
	mark = (void (*)(void))dlsym(RTLD_DEFAULT, "probe_step");
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &node);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2 ? MPI_UNDEFINED : 0, rank, &heads);
	for (step = 0; step < steps; step++) {
		leave();
		usleep(2000);
		turn[which]();
		if (mark)
			mark();
	}
	MPI_Finalize();
	return 0;
}
