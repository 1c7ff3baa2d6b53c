/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rank 1 serves ranks 0 and 2 in the order in which their messages arrive: rank 0 first, except in step 9, where rank 2 is first.
 * Nothing is wrong. The second rank sends after the first one has its answer; it learns that by calls that are not recorded. In mode
 * swapped rank 1 receives from both by name, and its two lines that answer change places in step 9. In mode farm rank 0 hands out
 * tasks and marks no steps; each other rank marks one after each of its tasks. 16 steps, 4 ranks.
 *
 *	mpi_arrivals waitany|branches|any|farm|swapped
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define STEPS 16
#define COUNT 64

extern long probe_step(void) __attribute__((weak));

static int rank;
static float data[2][COUNT], answer[COUNT];

static void change(float *v)
{
	for (int i = 0; i < COUNT; i++)
		v[i] += (float)(rank + 1 + i);
}

static void reply(int to)
{
	change(answer);
	MPI_Send(answer, COUNT, MPI_FLOAT, to, 2, MPI_COMM_WORLD);
}

static void reply_on_one_line(int to)
{
	reply(to);
}

static void reply_on_two_lines(int to)
{
	if (to == 0)
		reply(0);
	else
		reply(2);
}

/* Requests are completed, and answered, as they come. */
static void serve_requests(void (*answer_to)(int to))
{
	MPI_Request r[2];

	for (int i = 0; i < 2; i++)
		MPI_Irecv(data[i], COUNT, MPI_FLOAT, 2 * i, 1, MPI_COMM_WORLD, &r[i]);
	for (int i = 0, w; i < 2; i++) {
		MPI_Waitany(2, r, &w, MPI_STATUS_IGNORE);
		answer_to(2 * w);
	}
}

static void serve_waitany(int step)
{
	(void)step;
	serve_requests(reply_on_one_line);
}

static void serve_branches(int step)
{
	(void)step;
	serve_requests(reply_on_two_lines);
}

static void serve_any(int step)
{
	MPI_Status s;

	(void)step;
	for (int i = 0; i < 2; i++) {
		MPI_Recv(data[i], COUNT, MPI_FLOAT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &s);
		reply(s.MPI_SOURCE);
	}
}

static void serve_by_name(int step)
{
	MPI_Recv(data[0], COUNT, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Recv(data[1], COUNT, MPI_FLOAT, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (step == 9) {
		reply(2);
		reply(0);
	} else {
		reply(0);
		reply(2);
	}
}

static void ask(void)
{
	change(data[0]);
	MPI_Send(data[0], COUNT, MPI_FLOAT, 1, 1, MPI_COMM_WORLD);
	MPI_Recv(answer, COUNT, MPI_FLOAT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The second one begins after the first one's answer; PMPI_ is not recorded. */
static void ask_in_turn(int first)
{
	int other = 2 - rank;
	char done = 0;

	if (rank != first)
		PMPI_Recv(&done, 1, MPI_CHAR, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	ask();
	if (rank == first)
		PMPI_Send(&done, 1, MPI_CHAR, other, 3, MPI_COMM_WORLD);
}

/* Whom the next task goes to follows no pattern; at the end each has had the same number. */
static void farm(void)
{
	static const int to[] = {1, 1, 1, 1, 3, 3, 3, 3, 2, 3, 2, 1, 2, 2, 1, 3, 2, 2, 1, 1, 3, 3,
		2, 1, 2, 3, 1, 2, 3, 3, 1, 2};
	int tasks = (int)(sizeof(to) / sizeof(*to)), task;
	MPI_Status s;

	for (int i = 0; !rank && i < tasks; i++) {
		MPI_Send(&i, 1, MPI_INT, to[i], 1, MPI_COMM_WORLD);
		MPI_Recv(answer, COUNT, MPI_FLOAT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &s);
	}
	for (int i = 0; i < tasks; i++) {
		if (to[i] != rank)
			continue;
		MPI_Recv(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		reply(0);
		if (probe_step)
			probe_step();
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*serve)(int step);
	} mode[] = {{"waitany", serve_waitany}, {"branches", serve_branches}, {"any", serve_any},
		{"swapped", serve_by_name}};
	void (*serve)(int step) = NULL;

	for (unsigned i = 0; argc > 1 && i < sizeof(mode) / sizeof(*mode); i++)
		if (!strcmp(argv[1], mode[i].name))
			serve = mode[i].serve;
	if (!serve && (argc < 2 || strcmp(argv[1], "farm")))
		return 2;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!serve)
		farm();
	for (int step = 0; serve && step < STEPS; step++) {
		float one = (float)step, all;

		if (rank == 1)
			serve(step);
		else if (rank != 3 && serve == serve_by_name)
			ask();
		else if (rank != 3)
			ask_in_turn(step == 9 ? 2 : 0);
		MPI_Allreduce(&one, &all, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		if (probe_step)
			probe_step();
	}
	if (rank == 0)
		printf("%g\n", (double)answer[0]);
	MPI_Finalize();
	return 0;
}
