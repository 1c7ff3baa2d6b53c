/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training with data, tensor and pipeline communicators, and one fault in it (run by faults.py):
 *
 *	train [KEY=VALUE ...]
 *
 * steps, layout (dp: data parallel only; 3d), elements, eval (steps between two evaluation pauses; 0: none), marker (api,
 * pcontrol, none), odd (innocent things that look like faults), seed, pairs (messages go there and back, not around), slow_us (of the faults of timing); fault, rank, step, site, pick: what goes wrong, where and
 * when. The rank at fault writes what it does, as JSON, to stderr.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum site { FORWARD, BUCKETS, NORM, FLAG, LOSS, RATE, SHARD, PIPE, CHECK, SITES };
static const char *const site_name[SITES] = {
	"forward", "buckets", "norm", "flag", "loss", "rate", "shard", "pipe", "check"};

#define NBUCKET 4
#define ELEMENTS_MAX 65536

static int rank, size, step, steps = 14, elements = 4096, eval_every, odd, pairs, slow_us = 30000,
			     frank = -1, fstep = -1, fpick;
static char fault[24] = "none", layout[16] = "3d", marker[16] = "api";
static enum site fsite = SITES;
static unsigned seed = 1;
static MPI_Comm tp, dp;
static int *meddle, *meddle_ns;
static void (*mark)(void);

static float activation[ELEMENTS_MAX], gradient[NBUCKET][ELEMENTS_MAX],
	reduced[NBUCKET][ELEMENTS_MAX];
static float weight[NBUCKET][ELEMENTS_MAX], message[ELEMENTS_MAX], inbox[ELEMENTS_MAX], rate[32],
	shard[ELEMENTS_MAX];

/* Arguments of a call; a fault changes them. */
struct given {
	int count, times, root, tag;
	MPI_Datatype type;
	MPI_Op op;
};

static float noise(unsigned a, unsigned b)
{
	unsigned x = a * 2654435761u ^ b * 2246822519u ^ seed * 3266489917u;

	x ^= x >> 15;
	x *= 2246822519u;
	x ^= x >> 13;
	x *= 3266489917u;
	x ^= x >> 16;
	return (float)(x & 0xffffff) / 8388608.0f - 1.0f;
}

static void say_truth(const char *api)
{
	fprintf(stderr,
		"TRUTH {\"fault\": \"%s\", \"rank\": %d, \"step\": %d, \"site\": \"%s\", \"api\": "
		"\"%s\", \"pick\": %d}\n",
		fault, rank, step, fsite < SITES ? site_name[fsite] : "", api, fpick);
	fflush(stderr);
}

/* Is it this rank's turn to do that, here and now? */
static bool is_due(const char *what, enum site site)
{
	return rank == frank && step == fstep && site == fsite && !strcmp(what, fault);
}

static bool is_from_now(const char *what, enum site site)
{
	return rank == frank && step >= fstep && site == fsite && !strcmp(what, fault);
}

/* Faults of a call's terms. */
static void change_terms(struct given *g, enum site site, const char *api)
{
	if (is_due("skip", site))
		g->times = 0;
	else if (is_due("extra", site))
		g->times = 2;
	else if (is_due("count", site))
		g->count = g->count > 1 ? g->count - 1 - fpick % (g->count > 64 ? 64 : g->count - 1)
					: 2;
	else if (is_due("dtype", site))
		g->type = g->type == MPI_FLOAT ? MPI_INT : MPI_FLOAT;
	else if (is_due("redop", site))
		g->op = g->op == MPI_SUM ? MPI_MAX : MPI_SUM;
	else if (is_due("root", site))
		g->root = (g->root + 1) % size;
	else if (is_due("tag", site))
		g->tag += 1;
	else
		return;
	say_truth(api);
}

/* Faults of what goes into it. */
static void change_values(float *x, int n, enum site site, const char *api)
{
	if (is_due("nan", site))
		x[n / 3] = __builtin_nanf("");
	else if (is_due("inf", site))
		x[n / 3] = __builtin_inff();
	else if (is_due("spike", site))
		x[n / 3] = 1e6f;
	else if (is_from_now("zero", site))
		memset(x, 0, (size_t)n * sizeof(*x));
	else
		return;
	if (step == fstep)
		say_truth(api);
}

/* Faults inside the library (meddle.c). */
static void change_library(enum site site, const char *api)
{
	static const char *const name[] = {"", "flip", "notsum"};

	for (int i = 1; meddle && i < 3; i++)
		if (is_due(name[i], site)) {
			*meddle = i;
			say_truth(api);
		}
}

/* ---- the calls of a step, each on a line of its own ---- */

static void forward_layer(int layer, int n)
{
	struct given g = {.count = n, .times = 1, .type = MPI_FLOAT, .op = MPI_SUM};

	bool stale = is_due("stale", FORWARD) && fpick % 2 == layer;

	for (int i = 0; i < n; i++)
		activation[i] =
			noise((unsigned)((step - stale) * 64 + layer * 8 + rank), (unsigned)i);
	if (stale)
		say_truth("MPI_Allreduce");
	if (layer == fpick % 2) {
		change_terms(&g, FORWARD, "MPI_Allreduce");
		change_values(activation, n, FORWARD, "MPI_Allreduce");
		change_library(FORWARD, "MPI_Allreduce");
	}
	while (g.times-- > 0)
		MPI_Allreduce(MPI_IN_PLACE, activation, g.count, g.type, g.op, tp);
	for (int i = 0; i < n; i++)
		activation[i] *= 0.5f;
}

static void forward(void)
{
	/* The batches have other lengths. */
	int n = elements - (odd && strcmp(fault, "stale") ? (step * 37) % 64 : 0);

	forward_layer(0, n);
	forward_layer(1, n);
}

static int bucket_size(int b)
{
	return odd & 2 ? elements : elements - b * 16;
}

static void backward(void)
{
	MPI_Request request[NBUCKET + 1];
	MPI_Status status[NBUCKET + 1];
	int n = 0, order[NBUCKET] = {0, 1, 2, 3};

	if (is_due("order", BUCKETS)) {
		order[fpick % 3] = fpick % 3 + 1;
		order[fpick % 3 + 1] = fpick % 3;
		say_truth("MPI_Iallreduce");
	}
	for (int k = 0; k < NBUCKET; k++) {
		int b = order[k];
		struct given g = {
			.count = bucket_size(b), .times = 1, .type = MPI_FLOAT, .op = MPI_SUM};
		bool stale = is_due("stale", BUCKETS) && fpick % NBUCKET == b;

		if (stale)
			say_truth("MPI_Iallreduce");
		for (int i = 0; !stale && i < elements; i++)
			gradient[b][i] =
				noise((unsigned)(step * 64 + 32 + rank), (unsigned)(i * 4 + b)) *
				(odd && step % 5 == 4 ? 8 : 1);
		/* An expert without tokens. */
		if (odd && b == 3 && (step + rank) % 4 == 1)
			memset(gradient[b], 0, sizeof(gradient[b]));
		if (fpick % NBUCKET == b) {
			change_terms(&g, BUCKETS, "MPI_Iallreduce");
			change_values(gradient[b], elements, BUCKETS, "MPI_Iallreduce");
		}
		while (g.times-- > 0)
			MPI_Iallreduce(
				gradient[b], reduced[b], g.count, g.type, g.op, dp, &request[n++]);
	}
	MPI_Waitall(n, request, status);
	for (int b = 0; b < NBUCKET; b++)
		for (int i = 0; i < elements; i++)
			weight[b][i] -= rate[0] * reduced[b][i];
	if (rank == frank && step == fstep && !strcmp(fault, "drift")) {
		weight[fpick % NBUCKET][5] += 0.01f;
		say_truth("");
	}
}

static void norm(void)
{
	struct given g = {.count = 1, .times = 1, .type = MPI_DOUBLE, .op = MPI_SUM};
	double mine[4] = {0}, all[4];

	for (int b = 0; b < NBUCKET; b++)
		for (int i = 0; i < elements; i++)
			mine[0] += (double)reduced[b][i] * reduced[b][i];
	change_terms(&g, NORM, "MPI_Allreduce");
	while (g.times-- > 0)
		MPI_Allreduce(mine, all, g.count, g.type, g.op, MPI_COMM_WORLD);
}

static void flag(void)
{
	struct given g = {.count = 1, .times = 1, .type = MPI_INT, .op = MPI_MAX};
	int mine[4] = {0}, all[4];

	change_terms(&g, FLAG, "MPI_Allreduce");
	while (g.times-- > 0)
		MPI_Allreduce(mine, all, g.count, g.type, g.op, MPI_COMM_WORLD);
}

static void loss(void)
{
	struct given g = {.count = 1,
		.times = 1,
		.type = MPI_FLOAT,
		.op = MPI_SUM,
		.root = odd ? step % size : 0};
	float mine[4] = {0}, all[4];

	mine[0] = 2.0f / (float)(step + 1) + 0.01f * noise((unsigned)step, (unsigned)rank);
	change_values(mine, 1, LOSS, "MPI_Reduce");
	change_terms(&g, LOSS, "MPI_Reduce");
	while (g.times-- > 0)
		MPI_Reduce(mine, all, g.count, g.type, g.op, g.root, MPI_COMM_WORLD);
}

static void new_rate(void)
{
	struct given g = {.count = 32, .times = 1, .type = MPI_FLOAT, .root = 0};

	for (int i = 0; rank == 0 && i < 32; i++)
		rate[i] = 0.01f / (float)(1 + step + i);
	change_terms(&g, RATE, "MPI_Bcast");
	change_library(RATE, "MPI_Bcast");
	while (g.times-- > 0)
		MPI_Bcast(rate, g.count, g.type, g.root, MPI_COMM_WORLD);
}

static void shards(void)
{
	int n, part;
	struct given g = {.times = 1, .type = MPI_FLOAT, .op = MPI_SUM};

	MPI_Comm_size(dp, &n);
	part = elements / n;
	g.count = part;
	MPI_Reduce_scatter_block(gradient[0], shard, part, MPI_FLOAT, MPI_SUM, dp);
	change_terms(&g, SHARD, "MPI_Allgather");
	change_values(shard, part, SHARD, "MPI_Allgather");
	while (g.times-- > 0)
		MPI_Allgather(shard, g.count, g.type, reduced[1], g.count, g.type, dp);
}

/* Each stage gives its neighbour what it has computed; even ones send first. */
static void pipe_stage(void)
{
	int next = pairs ? rank ^ 1 : (rank + 1) % size,
	    before = pairs ? rank ^ 1 : (rank + size - 1) % size;
	struct given g = {.count = elements, .times = 1, .type = MPI_FLOAT, .tag = 7};
	bool first = rank % 2 == 0;

	for (int i = 0; i < elements; i++)
		message[i] = noise((unsigned)(step * 64 + 48 + rank), (unsigned)i);
	if (is_due("crossed", PIPE)) {
		first = !first;
		say_truth("MPI_Send");
	}
	change_terms(&g, PIPE, "MPI_Send");
	change_values(message, elements, PIPE, "MPI_Send");
	if (is_due("norecv", PIPE))
		say_truth("MPI_Recv");
	if (meddle && is_from_now("link", PIPE)) {
		if (step == fstep)
			say_truth("MPI_Recv");
		*meddle_ns = slow_us;
	}
	if (first && g.times)
		MPI_Send(message, g.count, g.type, next, g.tag, MPI_COMM_WORLD);
	if (!is_due("norecv", PIPE))
		MPI_Recv(inbox, elements, MPI_FLOAT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (!first && g.times)
		MPI_Send(message, g.count, g.type, next, g.tag, MPI_COMM_WORLD);
	if (meddle_ns)
		*meddle_ns = 0;
}

static void check_replicas(void)
{
	double mine[16], all[16 * 64];

	if (step % 2)
		return;
	for (int k = 0; k < 16; k++) {
		mine[k] = 0;
		for (int b = 0; b < NBUCKET; b++)
			for (int i = k; i < elements; i += 16)
				mine[k] += (double)weight[b][i] * (1 + i % 7);
	}
	MPI_Gather(mine, 16, MPI_DOUBLE, all, 16, MPI_DOUBLE, 0, dp);
}

static void leave_or_sleep(void)
{
	if (rank != frank || step != fstep)
		return;
	if (!strcmp(fault, "sleep")) {
		say_truth("");
		for (;;)
			pause();
	}
	if (!strcmp(fault, "exits")) {
		say_truth("");
		if (fpick % 2)
			_exit(3);
		exit(4);
	}
	if (!strcmp(fault, "killed")) {
		say_truth("");
		kill(getpid(), fpick % 2 ? SIGKILL : SIGSEGV);
	}
	if (!strcmp(fault, "stall")) {
		say_truth("");
		usleep(2000000);
	}
}

static void compute(void)
{
	static unsigned turn;
	usleep(2000);
	if (rank == frank && step >= fstep && !strcmp(fault, "slow")) {
		if (step == fstep)
			say_truth("");
		usleep((unsigned)slow_us);
	}
	if (rank == frank && step >= fstep && !strcmp(fault, "jitter")) {
		if (step == fstep)
			say_truth("");
		if (noise(turn++, 99) > 0)
			usleep((unsigned)slow_us * 2);
	}
}

static void evaluate(void)
{
	if (!eval_every || step % eval_every != eval_every - 1)
		return;
	/* Rank 0 writes a checkpoint; the others wait. */
	if (rank == 0)
		usleep(80000);
	MPI_Barrier(MPI_COMM_WORLD);
	forward();
}

static void end_step(void)
{
	if (mark)
		mark();
	else if (strcmp(marker, "none"))
		MPI_Pcontrol(2);
}

static void read_train_options(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *v = strchr(argv[i], '=');

		if (!v)
			continue;
		*v++ = 0;
		if (!strcmp(argv[i], "steps"))
			steps = atoi(v);
		else if (!strcmp(argv[i], "elements"))
			elements = atoi(v) > ELEMENTS_MAX ? ELEMENTS_MAX : atoi(v);
		else if (!strcmp(argv[i], "eval"))
			eval_every = atoi(v);
		else if (!strcmp(argv[i], "odd"))
			odd = atoi(v);
		else if (!strcmp(argv[i], "slow_us"))
			slow_us = atoi(v);
		else if (!strcmp(argv[i], "pairs"))
			pairs = atoi(v);
		else if (!strcmp(argv[i], "seed"))
			seed = (unsigned)atoi(v);
		else if (!strcmp(argv[i], "rank"))
			frank = atoi(v);
		else if (!strcmp(argv[i], "step"))
			fstep = atoi(v);
		else if (!strcmp(argv[i], "pick"))
			fpick = atoi(v);
		else if (!strcmp(argv[i], "fault"))
			snprintf(fault, sizeof(fault), "%s", v);
		else if (!strcmp(argv[i], "layout"))
			snprintf(layout, sizeof(layout), "%s", v);
		else if (!strcmp(argv[i], "marker"))
			snprintf(marker, sizeof(marker), "%s", v);
		else if (!strcmp(argv[i], "site"))
			for (int s = 0; s < SITES; s++)
				if (!strcmp(v, site_name[s]))
					fsite = (enum site)s;
	}
}

int main(int argc, char **argv)
{
	/* Two neighbours of which a rank may take the wrong one first. */
	static void (*const part[])(void) = {
		new_rate, forward, pipe_stage, backward, norm, flag, loss, shards, check_replicas};
	enum { PARTS = sizeof(part) / sizeof(*part) };
	static const enum site site_of[] = {
		RATE, FORWARD, PIPE, BUCKETS, NORM, FLAG, LOSS, SHARD, CHECK};

	read_train_options(argc, argv);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!strcmp(marker, "api"))
		mark = (void (*)(void))dlsym(RTLD_DEFAULT, "probe_step");
	meddle = dlsym(RTLD_DEFAULT, "meddle_now");
	meddle_ns = dlsym(RTLD_DEFAULT, "meddle_delay_us");
	bool only_dp = !strcmp(layout, "dp") || size < 4;
	MPI_Comm_split(MPI_COMM_WORLD, only_dp ? rank : rank / 2, rank, &tp);
	MPI_Comm_split(MPI_COMM_WORLD, only_dp ? 0 : rank % 2, rank, &dp);
	if (only_dp) {
		MPI_Comm_free(&tp);
		MPI_Comm_dup(MPI_COMM_WORLD, &tp);
	}
	for (int b = 0; b < NBUCKET; b++)
		for (int i = 0; i < elements; i++)
			weight[b][i] = noise((unsigned)b + 7777u, (unsigned)i);
	for (step = 0; step < steps; step++) {
		int turn[PARTS];

		for (int i = 0; i < PARTS; i++)
			turn[i] = i;
		for (int i = 0; i + 1 < PARTS; i++)
			if (site_of[i] == fsite && fsite != BUCKETS && is_due("order", fsite)) {
				turn[i] = i + 1;
				turn[i + 1] = i;
				say_truth("");
			}
		leave_or_sleep();
		compute();
		for (int i = 0; i < PARTS; i++)
			part[turn[i]]();
		evaluate();
		end_step();
	}
	MPI_Finalize();
	return 0;
}
