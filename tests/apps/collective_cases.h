/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every collective of MPI-3, with and without MPI_IN_PLACE, checked element by element, for several types, lengths
 * (0 too) and roots. The including program says how a collective is called:
 *
 *   COLL(Allreduce, allreduce, arguments...)   blocking, non-blocking, persistent, or with large counts
 *   COUNT, DISPL                               types of the arrays of counts and displacements in that form
 */
#ifndef COLLECTIVE_CASES_H
#define COLLECTIVE_CASES_H

#include "app.h"
#include "types.h"

enum { MAX_RANKS = 16, MAX_N = 20000, GAP = 3, FILL = 111 };

static double send_space[MAX_RANKS * (MAX_N + GAP + 1) + 16];
static double recv_space[MAX_RANKS * (MAX_N + GAP + 1) + 16];
static void *const send = send_space, *const recv = recv_space;

/* The case that is being run. */
static const struct type *t;
static int n, root, me, np;
static MPI_Comm comm;

/* Element i of what rank r has for rank d; below FILL. */
static double value(int r, int d, long i)
{
	return (double)((r * 31 + d * 7 + i) % 100);
}

static void see(const char *what, const void *buf, long i, double want)
{
	CHECK(get(t, buf, i) == want, "%s of %d %s, root %d of %d: element %ld is %g, not %g", what,
		n, t->name, root, np, i, get(t, buf, i), want);
}

/* n elements of buf from `at` on are what rank r has for rank d. */
static void see_block(const char *what, const void *buf, long at, long len, int r, int d)
{
	for (long i = 0; i < len; i++)
		see(what, buf, at + i, value(r, d, i));
	app_mix((const char *)buf + at * t->size, (size_t)(len * t->size));
}

static void see_untouched(const char *what, long from, long len)
{
	for (long i = 0; i < len; i++)
		see(what, recv, from + i, FILL);
}

static void fill(void *buf, long len)
{
	for (long i = 0; i < len; i++)
		put(t, buf, i, FILL);
}

static void put_block(void *buf, long at, long len, int r, int d)
{
	for (long i = 0; i < len; i++)
		put(t, buf, at + i, value(r, d, i));
}

/* ---- what MPIs are known to do wrong: skipped of the cases, with these MPIs only ---- */

/* MPICH 4.0 crashes in a longer reduction in place to another rank than 0. */
static int reduce_in_place_crashes(void)
{
#ifdef MPICH_VERSION
	return root != 0 && n * t->size > 1024;
#else
	return 0;
#endif
}

/* Open MPI 4.1 sends a block of Ialltoallv or Ialltoallw in place after it has been overwritten, if it is long. */
static int alltoallv_in_place_is_wrong(void)
{
#if defined(OPEN_MPI) && defined(NONBLOCKING)
	return n > 5;
#else
	return 0;
#endif
}

/* Both place the block of the only rank wrongly: MPICH 4.0 in Allgatherv, Open MPI 4.1 in Alltoallw. */
static long first_gap(void)
{
	return np == 1 ? 0 : GAP;
}

/* ---- one block for each rank ---- */

static void case_bcast(void)
{
	fill(recv, n + GAP);
	if (me == root)
		put_block(recv, 0, n, root, 0);
	COLL(Bcast, bcast, recv, n, t->mpi, root, comm);
	see_block("Bcast", recv, 0, n, root, 0);
	see_untouched("Bcast", n, GAP);
	COLL(Barrier, barrier, comm);
}

static void case_gather(void)
{
	fill(recv, np * n + GAP);
	put_block(send, 0, n, me, 0);
	COLL(Gather, gather, send, n, t->mpi, recv, n, t->mpi, root, comm);
	for (int r = 0; me == root && r < np; r++)
		see_block("Gather", recv, r * n, n, r, 0);
	see_untouched("Gather", me == root ? np * n : 0, GAP);

	fill(recv, np * n + GAP);
	put_block(recv, me * n, n, me, 0);
	COLL(Gather, gather, me == root ? MPI_IN_PLACE : send, n, t->mpi, recv, n, t->mpi, root,
		comm);
	for (int r = 0; me == root && r < np; r++)
		see_block("Gather in place", recv, r * n, n, r, 0);
}

static void case_scatter(void)
{
	fill(recv, n + GAP);
	for (int r = 0; r < np; r++)
		put_block(send, r * n, n, root, r);
	COLL(Scatter, scatter, send, n, t->mpi, recv, n, t->mpi, root, comm);
	see_block("Scatter", recv, 0, n, root, me);
	see_untouched("Scatter", n, GAP);

	fill(recv, n + GAP);
	COLL(Scatter, scatter, send, n, t->mpi, me == root ? MPI_IN_PLACE : recv, n, t->mpi, root,
		comm);
	if (me != root)
		see_block("Scatter in place", recv, 0, n, root, me);
	see_untouched("Scatter in place", me == root ? 0 : n, GAP);
}

static void case_allgather(void)
{
	fill(recv, np * n + GAP);
	put_block(send, 0, n, me, 0);
	COLL(Allgather, allgather, send, n, t->mpi, recv, n, t->mpi, comm);
	for (int r = 0; r < np; r++)
		see_block("Allgather", recv, r * n, n, r, 0);
	see_untouched("Allgather", np * n, GAP);

	fill(recv, np * n + GAP);
	put_block(recv, me * n, n, me, 0);
	COLL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, t->mpi, comm);
	for (int r = 0; r < np; r++)
		see_block("Allgather in place", recv, r * n, n, r, 0);
}

static void case_alltoall(void)
{
	fill(recv, np * n + GAP);
	for (int r = 0; r < np; r++)
		put_block(send, r * n, n, me, r);
	COLL(Alltoall, alltoall, send, n, t->mpi, recv, n, t->mpi, comm);
	for (int r = 0; r < np; r++)
		see_block("Alltoall", recv, r * n, n, r, me);
	see_untouched("Alltoall", np * n, GAP);

	for (int r = 0; r < np; r++)
		put_block(recv, r * n, n, me, r);
	COLL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, n, t->mpi, comm);
	for (int r = 0; r < np; r++)
		see_block("Alltoall in place", recv, r * n, n, r, me);
}

/* ---- blocks of different lengths, with gaps between them ---- */

static COUNT lens[MAX_RANKS];
static DISPL ats[MAX_RANKS];

/* Length of the block between ranks a and b: the same both ways; some are empty. */
static int block_len(int a, int b)
{
	return (a + b) % 3 == 1 ? 0 : n - n / (2 + (a + b) % 4);
}

/* Sets lens[] and ats[] for the blocks between `with` and everybody; returns where the last gap ends. */
static long lay_out_blocks(int with)
{
	long at = first_gap();

	for (int r = 0; r < np; r++) {
		lens[r] = block_len(with, r);
		ats[r] = (DISPL)at;
		at += (long)lens[r] + GAP;
	}
	return at;
}

/* All blocks came from (rank r's for d), and the gaps stayed as they were. */
static void see_blocks(const char *what, int r_is_sender, int other)
{
	see_untouched(what, 0, first_gap());
	for (int r = 0; r < np; r++) {
		see_block(what, recv, ats[r], lens[r], r_is_sender ? r : other,
			r_is_sender ? other : r);
		see_untouched(what, (long)(ats[r] + lens[r]), GAP);
	}
}

static void case_gatherv(void)
{
	long end = lay_out_blocks(root);

	fill(recv, end);
	put_block(send, 0, lens[me], me, root);
	COLL(Gatherv, gatherv, send, lens[me], t->mpi, recv, lens, ats, t->mpi, root, comm);
	if (me == root)
		see_blocks("Gatherv", 1, root);
	else
		see_untouched("Gatherv", 0, end);

	fill(recv, end);
	put_block(recv, ats[me], lens[me], me, root);
	COLL(Gatherv, gatherv, me == root ? MPI_IN_PLACE : send, lens[me], t->mpi, recv, lens, ats,
		t->mpi, root, comm);
	if (me == root)
		see_blocks("Gatherv in place", 1, root);
}

static void case_scatterv(void)
{
	long end = lay_out_blocks(root);

	fill(send, end);
	fill(recv, end);
	for (int r = 0; r < np; r++)
		put_block(send, ats[r], lens[r], root, r);
	COLL(Scatterv, scatterv, send, lens, ats, t->mpi, recv, lens[me], t->mpi, root, comm);
	see_block("Scatterv", recv, 0, lens[me], root, me);
	see_untouched("Scatterv", lens[me], GAP);

	fill(recv, end);
	COLL(Scatterv, scatterv, send, lens, ats, t->mpi, me == root ? MPI_IN_PLACE : recv,
		lens[me], t->mpi, root, comm);
	if (me != root)
		see_block("Scatterv in place", recv, 0, lens[me], root, me);
}

static void case_allgatherv(void)
{
	long end = lay_out_blocks(0);

	fill(recv, end);
	put_block(send, 0, lens[me], me, 0);
	COLL(Allgatherv, allgatherv, send, lens[me], t->mpi, recv, lens, ats, t->mpi, comm);
	see_blocks("Allgatherv", 1, 0);

	fill(recv, end);
	put_block(recv, ats[me], lens[me], me, 0);
	COLL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, recv, lens, ats, t->mpi,
		comm);
	see_blocks("Allgatherv in place", 1, 0);
}

static void case_alltoallv(void)
{
	long end = lay_out_blocks(me);

	fill(send, end);
	fill(recv, end);
	for (int r = 0; r < np; r++)
		put_block(send, ats[r], lens[r], me, r);
	COLL(Alltoallv, alltoallv, send, lens, ats, t->mpi, recv, lens, ats, t->mpi, comm);
	see_blocks("Alltoallv", 1, me);

	if (alltoallv_in_place_is_wrong())
		return;
	fill(recv, end);
	for (int r = 0; r < np; r++)
		put_block(recv, ats[r], lens[r], me, r);
	COLL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, recv, lens, ats,
		t->mpi, comm);
	see_blocks("Alltoallv in place", 1, me);
}

static void case_alltoallw(void)
{
	long end = lay_out_blocks(me);
	MPI_Datatype each[MAX_RANKS];
	DISPL bytes[MAX_RANKS];

	for (int r = 0; r < np; r++) {
		each[r] = t->mpi;
		bytes[r] = ats[r] * t->size;
	}
	fill(send, end);
	fill(recv, end);
	for (int r = 0; r < np; r++)
		put_block(send, ats[r], lens[r], me, r);
	COLL(Alltoallw, alltoallw, send, lens, bytes, each, recv, lens, bytes, each, comm);
	see_blocks("Alltoallw", 1, me);

	if (alltoallv_in_place_is_wrong())
		return;
	fill(recv, end);
	for (int r = 0; r < np; r++)
		put_block(recv, ats[r], lens[r], me, r);
	COLL(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, recv, lens, bytes, each, comm);
	see_blocks("Alltoallw in place", 1, me);
}

#include "reduction_cases.h"

/* ---- all of them ---- */

static void run_cases(MPI_Comm on)
{
	static const int lengths[] = {0, 1, 5, 1000, MAX_N};
	int turn = 0;

	comm = on;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &np);
	CHECK(np <= MAX_RANKS, "at most %d ranks", MAX_RANKS);
	for (int k = 0; k < N_TYPES; k++) {
		t = &types[k];
		for (int l = 0; l < (k == 0 ? 5 : 4); l++) {
			n = lengths[l];
			root = turn++ % np;
			case_bcast();
			case_gather();
			case_scatter();
			case_allgather();
			case_alltoall();
			case_gatherv();
			case_scatterv();
			case_allgatherv();
			case_alltoallv();
			case_alltoallw();
			for (int o = 0; o < N_OPS; o++) {
				/* All operators on short buffers, sums on the others. */
				if ((n == 5 || o == 0) &&
					!(ops[o].whole_numbers_only && t->kind >= F32))
					case_reduce(o);
			}
			case_scan(turn % 4);
			case_reduce_scatter(turn % 4);
		}
		app_say("%s", t->name);
	}
}

#endif
