/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives without elements: mpi_empty STEPS MS [NAME]. Some MPIs let every rank wait in them for the others, some let it go on.
 * Rank 1 comes MS ms late to each; to the sum that follows the other ranks come late, in turns. Rank 0 prints of each of them
 * whether it waited there. NAME: only that one, and to the sum all come at once.
 */
#include "app.h"

#include <time.h>
#include <unistd.h>

static int ms;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int reduce(void)
{
	return MPI_Reduce(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int allreduce(void)
{
	return MPI_Allreduce(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int broadcast(void)
{
	return MPI_Bcast(NULL, 0, MPI_FLOAT, 1 % app_size, MPI_COMM_WORLD);
}

static int allgather(void)
{
	return MPI_Allgather(NULL, 0, MPI_FLOAT, NULL, 0, MPI_FLOAT, MPI_COMM_WORLD);
}

static int alltoall(void)
{
	return MPI_Alltoall(NULL, 0, MPI_FLOAT, NULL, 0, MPI_FLOAT, MPI_COMM_WORLD);
}

static int scan(void)
{
	return MPI_Scan(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int gather(void)
{
	return MPI_Gather(NULL, 0, MPI_FLOAT, NULL, 0, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static int scatter(void)
{
	return MPI_Scatter(NULL, 0, MPI_FLOAT, NULL, 0, MPI_FLOAT, 1 % app_size, MPI_COMM_WORLD);
}

static int reduce_scatter(void)
{
	return MPI_Reduce_scatter_block(NULL, NULL, 0, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
	const char *name;
	int (*run)(void);
} empty[] = {{"Allreduce", allreduce}, {"Bcast", broadcast}, {"Reduce", reduce},
	{"Allgather", allgather}, {"Alltoall", alltoall}, {"Scan", scan}, {"Gather", gather},
	{"Scatter", scatter}, {"Reduce_scatter_block", reduce_scatter}};
enum { EMPTY = sizeof(empty) / sizeof(*empty) };

int main(int argc, char **argv)
{
	int steps = argc > 2 ? atoi(argv[1]) : 1, waited[EMPTY] = {0};
	const char *only = argc > 3 ? argv[3] : NULL;
	float one = 1, sum;
	MPI_Comm other;

	app_init(&argc, &argv);
	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	ms = argc > 2 ? atoi(argv[2]) : 1;
	for (int step = 0; step < steps; step++) {
		for (int k = 0; k < EMPTY; k++) {
			double begin, took;

			if (only && strcmp(only, empty[k].name))
				continue;
			if (app_rank == 1)
				usleep((useconds_t)ms * 1000);
			begin = now();
			CHECK(empty[k].run() == MPI_SUCCESS, "%s of nothing fails", empty[k].name);
			took = now() - begin;
			waited[k] += took > ms / 2.0;
			/* What the next one shows is its own: all begin together but for rank 1. */
			if (app_rank != 1 && took < ms / 2.0)
				usleep((useconds_t)ms * 1000);
			MPI_Barrier(other);
		}
		if (!only && app_rank != 1 && (step + app_rank / 2) % 2)
			usleep((useconds_t)ms * 3000);
		MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		CHECK(sum == (float)app_size, "step %d: sum %g", step, sum);
		MPI_Pcontrol(2);
	}
	MPI_Comm_free(&other);
	for (int k = 0; k < EMPTY && app_rank == 0; k++)
		if (!only || strcmp(only, empty[k].name) == 0)
			app_say("%s %s", empty[k].name,
				waited[k] > steps / 2 ? "waits" : "goes on");
	return app_done();
}
