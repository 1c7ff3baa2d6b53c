/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of which one rank passes another signature in one step (tests/e2e/test_signatures.sh):
 *
 *	mpi_signatures OP FAULT WHO [STEPS STEP VARY]
 *
 * OP: see ops[]; NAME_in_place: the root, or each rank, uses MPI_IN_PLACE. FAULT: SIDE_CHANGE: SIDE: send, recv; CHANGE: less, more
 * (elements), int (in place of float), double (half as many), bytes (the same bytes as MPI_BYTE), derived (the same elements as
 * blocks of one type), none. `zero`: of a v-collective all ranks agree that WHO has no elements. VARY: amounts change from step to step.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOT 0
#define N 64
#define RANKS_MAX 8
#define ROOM (4 * N * RANKS_MAX)

static int rank, size, who, step, steps = 12, at = 8, vary;
static const char *fault = "none";
static bool in_place;
static float a[ROOM], b[ROOM], c[64];
static MPI_Datatype block;

struct side {
	int count;
	MPI_Datatype type;
};

static struct side give_side(const char *name, int n)
{
	struct side s = {n, MPI_FLOAT};
	size_t len = strlen(name);
	const char *change = fault + len + 1;

	if (step != at || rank != who || strncmp(fault, name, len) != 0 || fault[len] != '_')
		return s;
	if (strcmp(change, "less") == 0)
		s.count = n / 2;
	else if (strcmp(change, "more") == 0)
		s.count = n + 8;
	else if (strcmp(change, "int") == 0)
		s.type = MPI_INT;
	else if (strcmp(change, "double") == 0)
		s = (struct side){n / 2, MPI_DOUBLE};
	else if (strcmp(change, "bytes") == 0)
		s = (struct side){4 * n, MPI_BYTE};
	else if (strcmp(change, "derived") == 0)
		s = (struct side){n / 4, block};
	else if (strcmp(change, "nothing") == 0)
		s.count = 0;
	return s;
}

/* What rank r has in this step; a legal amount that all know. */
static int amount_of(int r)
{
	int n = N + (vary ? 4 * ((step * 7 + r * 5) % 6) : 4 * (r % 3));

	return strcmp(fault, "zero") == 0 && step == at && r == who ? 0 : n;
}

static int list_amounts(int *count, int *displ, int own)
{
	int sum = 0;

	for (int r = 0; r < size; r++) {
		count[r] = own >= 0 ? amount_of(own) : amount_of(r);
		displ[r] = r * 2 * N;
		sum += count[r];
	}
	return sum;
}

static void call_v(const char *op, struct side s, struct side r)
{
	int sc[RANKS_MAX], rc[RANKS_MAX], sd[RANKS_MAX], rd[RANKS_MAX];
	const void *send =
		in_place && (rank == ROOT || strcmp(op, "allgatherv") == 0) ? MPI_IN_PLACE : a;

	list_amounts(rc, rd, -1);
	list_amounts(sc, sd, -1);
	if (strcmp(op, "gatherv") == 0) {
		s = give_side("send", amount_of(rank));
		r = give_side("recv", amount_of(1));
		rc[1] = r.type == block || r.type != MPI_FLOAT || r.count != amount_of(1) ? r.count
											  : rc[1];
		if (r.type == MPI_FLOAT || r.type == MPI_INT)
			MPI_Gatherv(send, s.count, s.type, b, rc, rd, r.type, ROOT, MPI_COMM_WORLD);
		else
			MPI_Gatherv(
				send, s.count, s.type, b, rc, rd, MPI_FLOAT, ROOT, MPI_COMM_WORLD);
	} else if (strcmp(op, "scatterv") == 0) {
		s = give_side("send", amount_of(1));
		r = give_side("recv", amount_of(rank));
		sc[1] = s.count;
		MPI_Scatterv(a, sc, sd, s.type == MPI_INT ? MPI_INT : MPI_FLOAT,
			in_place && rank == ROOT ? MPI_IN_PLACE : b, r.count, r.type, ROOT,
			MPI_COMM_WORLD);
	} else if (strcmp(op, "allgatherv") == 0) {
		s = give_side("send", amount_of(rank));
		r = give_side("recv", amount_of(1));
		rc[1] = r.count;
		MPI_Allgatherv(send, s.count, s.type, b, rc, rd,
			r.type == MPI_INT ? MPI_INT : MPI_FLOAT, MPI_COMM_WORLD);
	} else if (strcmp(op, "alltoallv") == 0) {
		/* Rank r sends each the amount of r. */
		list_amounts(sc, sd, rank);
		s = give_side("send", sc[(rank + 1) % size]);
		r = give_side("recv", rc[(rank + 1) % size]);
		sc[(rank + 1) % size] = s.count;
		rc[(rank + 1) % size] = r.count;
		MPI_Alltoallv(a, sc, sd, s.type == MPI_INT ? MPI_INT : MPI_FLOAT, b, rc, rd,
			r.type == MPI_INT ? MPI_INT : MPI_FLOAT, MPI_COMM_WORLD);
	} else if (strcmp(op, "reduce_scatter") == 0) {
		r = give_side("recv", amount_of(1));
		rc[1] = r.count;
		MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : (void *)a, in_place ? a : b, rc,
			r.type == MPI_INT ? MPI_INT : MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void call_op(const char *op)
{
	struct side s = give_side("send", N), r = give_side("recv", N);
	void *send =
		in_place && (rank == ROOT || strncmp(op, "all", 3) == 0) ? MPI_IN_PLACE : (void *)a;

	if (strcmp(op, "bcast") == 0)
		MPI_Bcast(rank == ROOT ? a : b, s.count, s.type, ROOT, MPI_COMM_WORLD);
	else if (strcmp(op, "reduce") == 0)
		MPI_Reduce(send, b, s.count, s.type, MPI_SUM, ROOT, MPI_COMM_WORLD);
	else if (strcmp(op, "allreduce") == 0)
		MPI_Allreduce(send, b, s.count, s.type, MPI_SUM, MPI_COMM_WORLD);
	else if (strcmp(op, "gather") == 0)
		MPI_Gather(send, s.count, s.type, b, r.count, r.type, ROOT, MPI_COMM_WORLD);
	else if (strcmp(op, "scatter") == 0)
		MPI_Scatter(a, s.count, s.type, in_place && rank == ROOT ? MPI_IN_PLACE : b,
			r.count, r.type, ROOT, MPI_COMM_WORLD);
	else if (strcmp(op, "allgather") == 0)
		MPI_Allgather(send, s.count, s.type, b, r.count, r.type, MPI_COMM_WORLD);
	else if (strcmp(op, "alltoall") == 0)
		MPI_Alltoall(send, s.count, s.type, b, r.count, r.type, MPI_COMM_WORLD);
	else if (strcmp(op, "reduce_scatter_block") == 0)
		MPI_Reduce_scatter_block(a, b, r.count, r.type, MPI_SUM, MPI_COMM_WORLD);
	else if (strcmp(op, "scan") == 0)
		MPI_Scan(a, b, s.count, s.type, MPI_SUM, MPI_COMM_WORLD);
	else if (strcmp(op, "exscan") == 0)
		MPI_Exscan(a, b, s.count, s.type, MPI_SUM, MPI_COMM_WORLD);
	else
		call_v(op, s, r);
}

int main(int argc, char **argv)
{
	void (*mark)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "probe_step");
	static char op[64];
	int *meddle = dlsym(RTLD_DEFAULT, "meddle_now");
	char *tail;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 4)
		return 2;
	snprintf(op, sizeof(op), "%s", argv[1]);
	if ((tail = strstr(op, "_in_place"))) {
		*tail = 0;
		in_place = true;
	}
	fault = argv[2];
	who = atoi(argv[3]);
	steps = argc > 4 ? atoi(argv[4]) : steps;
	at = argc > 5 ? atoi(argv[5]) : at;
	vary = argc > 6 ? atoi(argv[6]) : vary;
	MPI_Type_contiguous(4, MPI_FLOAT, &block);
	MPI_Type_commit(&block);
	for (step = 0; step < steps; step++) {
		for (int i = 0; i < ROOM; i++)
			a[i] = (float)((step * 131 + rank * 17 + i * 7) % 1009) / 8;
		MPI_Allreduce(a, c, 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
		/* tests/faults/meddle.c: 1: what it receives is changed, 2: what it sends. */
		if (meddle && step == at && rank == who)
			*meddle = strcmp(fault, "arrives_changed") == 0	 ? 1
				  : strcmp(fault, "leaves_changed") == 0 ? 2
									 : 0;
		call_op(op);
		if (mark)
			mark();
	}
	MPI_Finalize();
	return 0;
}
