/* SPDX-License-Identifier: Apache-2.0 */
/* Every neighbourhood collective on several topologies. COLL and COUNT as in collective_cases.h, which comes first. */
#ifndef NEIGHBOR_CASES_H
#define NEIGHBOR_CASES_H

#include "collective_cases.h"

/* What this rank receives from and sends to, in the order of the topology; MPI_PROC_NULL at an edge. */
static int from[MAX_RANKS], to[MAX_RANKS], n_from, n_to;
static int one_way; /* ranks that receive send nothing */

/* MPICH 4.0 moves nothing in Neighbor_alltoallw if no rank both sends and receives. */
static int alltoallw_is_wrong(void)
{
#ifdef MPICH_VERSION
	return one_way;
#else
	return 0;
#endif
}

/* The block's length depends on sender and receiver only: a rank that is a neighbour twice gets the same twice. */
static int pair_len(int sender, int receiver)
{
	return sender < 0 || receiver < 0 ? 0 : block_len(sender, receiver);
}

static void neighbor_allgather(void)
{
	fill(recv, n_from * n + GAP);
	put_block(send, 0, n, me, 0);
	COLL(Neighbor_allgather, neighbor_allgather, send, n, t->mpi, recv, n, t->mpi, comm);
	for (int k = 0; k < n_from; k++) {
		if (from[k] >= 0)
			see_block("Neighbor_allgather", recv, k * n, n, from[k], 0);
		else
			see_untouched("Neighbor_allgather", k * n, n);
	}
	see_untouched("Neighbor_allgather", n_from * n, GAP);
}

static void neighbor_alltoall(void)
{
	fill(recv, n_from * n + GAP);
	for (int k = 0; k < n_to; k++)
		put_block(send, k * n, n, me, to[k]);
	COLL(Neighbor_alltoall, neighbor_alltoall, send, n, t->mpi, recv, n, t->mpi, comm);
	for (int k = 0; k < n_from; k++) {
		if (from[k] >= 0)
			see_block("Neighbor_alltoall", recv, k * n, n, from[k], me);
		else
			see_untouched("Neighbor_alltoall", k * n, n);
	}
}

/* Lays out receive blocks with gaps; returns the end. by_sender: a block has the same length for each receiver. */
static long lay_out_from(COUNT *len, DISPL *at, int by_sender)
{
	long end = GAP;

	for (int k = 0; k < n_from; k++) {
		len[k] = from[k] < 0 ? 0
			 : by_sender ? block_len(from[k], 0)
				     : pair_len(from[k], me);
		at[k] = (DISPL)end;
		end += (long)len[k] + GAP;
	}
	return end;
}

static void neighbor_allgatherv(void)
{
	COUNT len[MAX_RANKS];
	DISPL at[MAX_RANKS];
	long end = lay_out_from(len, at, 1);

	fill(recv, end);
	put_block(send, 0, block_len(me, 0), me, 0);
	COLL(Neighbor_allgatherv, neighbor_allgatherv, send, block_len(me, 0), t->mpi, recv, len,
		at, t->mpi, comm);
	for (int k = 0; k < n_from; k++) {
		see_untouched("Neighbor_allgatherv", (long)at[k] - GAP, GAP);
		see_block("Neighbor_allgatherv", recv, (long)at[k], (long)len[k], from[k], 0);
	}
	see_untouched("Neighbor_allgatherv", end - GAP, GAP);
}

static void neighbor_alltoallv(int w)
{
	COUNT len[MAX_RANKS], slen[MAX_RANKS];
	DISPL at[MAX_RANKS], sat[MAX_RANKS];
	MPI_Aint bytes[MAX_RANKS], sbytes[MAX_RANKS]; /* in this call alone they are no ints */
	MPI_Datatype each[MAX_RANKS];
	long end = lay_out_from(len, at, 0), send_end = GAP;
	const char *what = w ? "Neighbor_alltoallw" : "Neighbor_alltoallv";

	for (int k = 0; k < n_to; k++) {
		slen[k] = pair_len(me, to[k]);
		sat[k] = (DISPL)send_end;
		sbytes[k] = send_end * t->size;
		put_block(send, send_end, (long)slen[k], me, to[k]);
		send_end += (long)slen[k] + GAP;
	}
	for (int k = 0; k < n_from; k++)
		bytes[k] = (MPI_Aint)at[k] * t->size;
	for (int k = 0; k < MAX_RANKS; k++)
		each[k] = t->mpi;
	fill(recv, end);
	if (w)
		COLL(Neighbor_alltoallw, neighbor_alltoallw, send, slen, sbytes, each, recv, len,
			bytes, each, comm);
	else
		COLL(Neighbor_alltoallv, neighbor_alltoallv, send, slen, sat, t->mpi, recv, len, at,
			t->mpi, comm);
	for (int k = 0; k < n_from; k++) {
		see_untouched(what, (long)at[k] - GAP, GAP);
		see_block(what, recv, (long)at[k], (long)len[k], from[k], me);
	}
	see_untouched(what, end - GAP, GAP);
}

static void run_on_topology(const char *name, MPI_Comm on)
{
	static const int lengths[] = {0, 1, 7, 3000};

	comm = on;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &np);
	for (int k = 0; k < 12; k++) {
		t = &types[k % 3 == 2 ? 6 : k % 3]; /* float, double, int */
		n = lengths[k / 3];
		neighbor_allgather();
		neighbor_alltoall();
		neighbor_allgatherv();
		neighbor_alltoallv(0);
		if (!alltoallw_is_wrong())
			neighbor_alltoallv(1);
	}
	app_say("%s", name);
}

static void run_on_cart(const char *name, int dims_wanted, int periodic)
{
	int dims[3] = {0}, wrap[3] = {periodic, periodic, periodic};
	MPI_Comm cart;

	MPI_Dims_create(app_size, dims_wanted, dims);
	MPI_Cart_create(MPI_COMM_WORLD, dims_wanted, dims, wrap, 0, &cart);
	n_from = n_to = 2 * dims_wanted;
	for (int d = 0; d < dims_wanted; d++)
		MPI_Cart_shift(cart, d, 1, &from[2 * d], &from[2 * d + 1]);
	memcpy(to, from, sizeof(to));
	run_on_topology(name, cart);
	MPI_Comm_free(&cart);
}

/* In and out degrees differ: each rank sends to the two ranks to its right, and rank 0 to all others. */
static void run_on_graphs(void)
{
	MPI_Comm graph;
	int r = app_rank, size = app_size;

	n_from = n_to = 2;
	for (int k = 0; k < 2; k++) {
		from[k] = (r + size - k - 1) % size;
		to[k] = (r + k + 1) % size;
	}
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, MPI_UNWEIGHTED, 2, to,
		MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
	run_on_topology("graph, two to the right", graph);
	MPI_Comm_free(&graph);

	one_way = 1;
	n_from = r != 0;
	n_to = r ? 0 : size - 1;
	from[0] = 0;
	for (int k = 0; k < n_to; k++)
		to[k] = k + 1;
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_from, from, MPI_UNWEIGHTED, n_to, to,
		MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
	run_on_topology("graph, a star", graph);
	MPI_Comm_free(&graph);
	one_way = 0;
}

static void run_neighbors(void)
{
	run_on_cart("ring", 1, 1);
	run_on_cart("line", 1, 0);
	run_on_cart("grid with edges", 2, 0);
	run_on_cart("torus", 2, 1);
	run_on_graphs();
}

#endif
