/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs whose values change their ways, and nothing is wrong: each mode breaks a habit that held until then. 24 steps, 4 ranks.
 * Four modes at the end have a fault.
 *
 *	mpi_habits MODE
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STEPS 24
#define MOST 256
#define CENTRES 12
#define POINTS 120
#define SPREAD 1.2f

extern long probe_step(void) __attribute__((weak));

static int rank, size;
static unsigned long random_state;
static float in[MOST], out[MOST];
static double one, all;

/* Below 1. */
static float draw(void)
{
	random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
	return (float)(random_state >> 40) / (float)(1ul << 24);
}

static void sum(int n)
{
	MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void sum_one(MPI_Op op)
{
	MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
}

/* Each rank has a schedule by its own count of good steps; rank 2 has a bad one. */
static void rates(int step)
{
	static int good;

	good += step != 9 || rank != 2;
	for (int i = 0; i < 32; i++)
		in[i] = 0.1f / (float)(1 + good + i);
	sum(32);
}

/* A front comes to one rank after the other. */
static void front(int step)
{
	for (int i = 0; i < 32; i++)
		in[i] = (1 + 0.1f * draw()) * (step >= 6 + 3 * rank ? 1 : 1e-6f);
	sum(32);
}

/* The data decide how much is sent. Rank 2 sends the same once more. */
static void lengths(int step)
{
	static int n;

	if (step != 12 || rank != 2) {
		n = 16 + (int)(draw() * 48);
		for (int i = 0; i < n; i++)
			in[i] = draw();
	}
	MPI_Sendrecv(in, n, MPI_FLOAT, (rank + 1) % size, 3, out, MOST, MPI_FLOAT,
		(rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void gather_distances(int step, int nan_step)
{
	static float gathered[4 * MOST];

	for (int i = 0; i < 64; i++)
		in[i] = draw() * 64 < 2 * (float)step + 1 ? 1 + 5 * draw() : INFINITY;
	if (step == nan_step && rank == 2)
		in[5] = NAN;
	MPI_Allgather(in, 64, MPI_FLOAT, gathered, 64, MPI_FLOAT, MPI_COMM_WORLD);
}

/* Distances, of which some are not known yet: fewer in each step. */
static void distances(int step)
{
	gather_distances(step, -1);
}

/* A fault: one distance is NaN. */
static void distance(int step)
{
	gather_distances(step, 12);
}

/* A fault: numbers of rank 2 overflow, from a step on. */
static void overflow(int step)
{
	for (int i = 0; i < 64; i++)
		in[i] = rank == 2 && step >= 15 && i < 9 ? INFINITY : draw();
	sum(64);
}

/* No tokens for the expert of rank 1 in some steps. */
static void expert(int step)
{
	for (int i = 0; i < MOST; i++)
		in[i] = rank == 1 && step >= 8 && step < 12 ? 0 : draw() - 0.5f;
	sum(MOST);
}

/* A relaxation: the part of rank 3 has come to rest. */
static void rest(int step)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;

	for (int i = 0; i < 64 && (rank != 3 || step < 9); i++)
		in[i] = 1 + expf(-(float)step) * draw();
	MPI_Sendrecv(in, 64, MPI_FLOAT, next, 1, out, 64, MPI_FLOAT, before, 1, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	one = draw();
	sum_one(MPI_SUM);
}

/* A planner: costs that all compute alike at first, and times that each rank measures after that. */
static void plan(int step)
{
	struct timespec a, b;
	volatile double x = 0;

	if (step < 6) {
		one = 1 / (3.0 + step * 7 % 5);
	} else {
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < 1000 << step % 4; i++)
			x += i;
		clock_gettime(CLOCK_MONOTONIC, &b);
		(void)x; /* gcc 16: `+=` alone uses nothing */
		one = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	}
	sum_one(MPI_MAX);
}

/* A solver: norms fall from step to step, and begin again when it restarts. */
static void restart(int step)
{
	double level = pow(0.2, step < 13 ? step : step - 13) * (step < 13 ? 1 : 40);

	one = level * (1 + draw() + (rank == 2 && step == 13 ? 5 : 0));
	sum_one(MPI_SUM);
	for (int i = 0; i < 8; i++)
		in[i] = (float)(level * (draw() - 0.5) / (1 + i));
	sum(8);
}

/* The last batch comes twice on one rank, which has fewer of them. */
static void batches(int step)
{
	for (int i = 0; i < 64 && (rank != 1 || step < STEPS - 1); i++)
		in[i] = draw();
	sum(64);
}

/*
 * Clusters: a batch of points is used for two steps, between which all centres move. If no point changes its centre, the sums are the same
 * again; mostly one does.
 */
static void clusters(int step)
{
	static float centre[CENTRES], point[POINTS];
	float batch = (float)(step / 2);

	for (int i = 0; i < POINTS && step % 2 == 0; i++)
		point[i] = (float)(i % CENTRES) + SPREAD * (draw() - 0.5f) + 0.01f * batch;
	for (int i = 0; i < CENTRES && step == 0; i++)
		centre[i] = 0.3f * (float)i;
	memset(in, 0, 2 * CENTRES * sizeof(*in));
	for (int i = 0; i < POINTS; i++) {
		int best = 0;

		for (int k = 1; k < CENTRES; k++)
			if (fabsf(point[i] - centre[k]) < fabsf(point[i] - centre[best]))
				best = k;
		in[best] += point[i];
		in[CENTRES + best]++;
	}
	sum(2 * CENTRES);
	for (int k = 0; k < CENTRES; k++)
		centre[k] = out[CENTRES + k] > 0 ? out[k] / out[CENTRES + k] : centre[k];
}

/* FAULT: the gradient of rank 2 is 25 times too large from step 12 on. */
static void larger(int step)
{
	for (int i = 0; i < MOST; i++)
		in[i] = (draw() - 0.5f) * (rank == 2 && step >= 12 ? 25 : 1);
	sum(MOST);
}

/* FAULT: what all ranks draw from the same data; rank 2 draws another one from step 14 on. */
static void replicas(int step)
{
	for (int i = 0; i < MOST; i++)
		in[i] = draw() - 0.5f;
	if (rank == 2 && step == 14)
		draw();
	sum(MOST);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int step);
	} mode[] = {{"rates", rates}, {"front", front}, {"expert", expert}, {"rest", rest},
		{"plan", plan}, {"restart", restart}, {"batches", batches}, {"clusters", clusters},
		{"distances", distances}, {"lengths", lengths}, {"larger", larger},
		{"replicas", replicas}, {"overflow", overflow}, {"distance", distance}};

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (unsigned i = 0; argc == 2 && i < sizeof(mode) / sizeof(*mode); i++) {
		if (strcmp(mode[i].name, argv[1]) != 0)
			continue;
		random_state = mode[i].run == replicas ? 11 : 11 + (unsigned long)rank;
		for (int step = 0; step < STEPS; step++) {
			mode[i].run(step);
			if (probe_step)
				probe_step();
		}
	}
	MPI_Finalize();
	return 0;
}
