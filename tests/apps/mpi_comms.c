/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators, made in every way; on each a known collective shows that it has the members it should have, in the
 * right order. A tool that names communicators must find the same name on all ranks of each.
 */
#include "app.h"

#define REUSES 2000

static const MPI_Comm world = MPI_COMM_WORLD;

/*
 * The members' world ranks, in order, must be those: Allgather, and a float Allreduce and a Bcast with them.
 * A null communicator is right where n is 0.
 */
static void see_members(const char *what, MPI_Comm comm, const int *want, int n)
{
	int got[64], size = 0, rank = -1, last;
	float f = (float)app_rank, sum = -1, expected = 0;

	if (comm == MPI_COMM_NULL) {
		CHECK(n == 0, "%s: rank %d is not in it", what, app_rank);
		return;
	}
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &rank);
	CHECK(size == n && want[rank] == app_rank, "%s: rank %d of %d", what, rank, size);
	MPI_Allgather(&app_rank, 1, MPI_INT, got, 1, MPI_INT, comm);
	CHECK(!memcmp(got, want, sizeof(int) * (size_t)n), "%s: members in another order", what);
	MPI_Allreduce(&f, &sum, 1, MPI_FLOAT, MPI_SUM, comm);
	for (int i = 0; i < n; i++)
		expected += (float)want[i];
	CHECK(sum == expected, "%s: sum %g, not %g", what, sum, expected);
	last = app_rank;
	MPI_Bcast(&last, 1, MPI_INT, n - 1, comm);
	CHECK(last == want[n - 1], "%s: Bcast brought %d", what, last);
	app_mix(got, sizeof(int) * (size_t)n);
}

/* Ranks 0..app_size-1, every step-th from first on; returns their number. */
static int every(int *list, int first, int step)
{
	int n = 0;

	for (int r = first; r < app_size; r += step)
		list[n++] = r;
	return n;
}

static void duplicates(void)
{
	int all[64], n = every(all, 0, 1), len;
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Comm dup, again, later;
	MPI_Request req;

	see_members("MPI_COMM_WORLD", world, all, n);
	see_members("MPI_COMM_SELF", MPI_COMM_SELF, &app_rank, 1);
	MPI_Comm_dup(world, &dup);
	MPI_Comm_set_name(dup, "data parallel, \"quoted\"");
	MPI_Comm_get_name(dup, name, &len);
	CHECK(!strcmp(name, "data parallel, \"quoted\""), "name %s", name);
	see_members("dup", dup, all, n);
	MPI_Comm_dup_with_info(dup, MPI_INFO_NULL, &again);
	see_members("dup of dup", again, all, n);
	MPI_Comm_idup(again, &later, &req);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	see_members("idup", later, all, n);
	MPI_Comm_set_name(later, "renamed");
	MPI_Comm_free(&dup);
	see_members("dup of a freed dup", again, all, n);
	MPI_Comm_free(&again);
	MPI_Comm_disconnect(&later);
	CHECK(later == MPI_COMM_NULL, "disconnect left a communicator");
	app_say("duplicates");
}

static void splits(void)
{
	int list[64] = {0}, n, half = app_size / 2;
	MPI_Comm comm, inner;

	n = every(list, app_rank % 2, 2);
	MPI_Comm_split(world, app_rank % 2, 0, &comm);
	see_members("split by two", comm, list, n);
	MPI_Comm_split(comm, 7, -app_rank, &inner);
	for (int i = 0; i < n / 2; i++) {
		int t = list[i];

		list[i] = list[n - 1 - i];
		list[n - 1 - i] = t;
	}
	see_members("backwards", inner, list, n);
	MPI_Comm_free(&inner);
	MPI_Comm_free(&comm);

	/* Half of the ranks are in none. */
	n = app_rank < half ? half : 0;
	every(list, 0, 1);
	MPI_Comm_split(world, app_rank < half ? 1 : MPI_UNDEFINED, 0, &comm);
	see_members("split of a half", comm, list, n);
	if (comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm);

	n = every(list, 0, 1);
	MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
	see_members("split by node", comm, list, n); /* all ranks of a test run on one node */
	MPI_Comm_free(&comm);
	app_say("splits");
}

static void by_groups(void)
{
	int list[64], n = every(list, 1, 2), pairs = 0;
	MPI_Group all, odd;
	MPI_Comm comm;

	MPI_Comm_group(world, &all);
	MPI_Group_incl(all, n, list, &odd);
	MPI_Comm_create(world, odd, &comm);
	see_members("create", comm, list, app_rank % 2 ? n : 0);
	if (comm != MPI_COMM_NULL)
		MPI_Comm_free(&comm);

	/*
	 * Pairs of neighbours, made by their members only: {0,1} three times, {1,2} once, {2,3} three times ... Inner
	 * ranks make more communicators than outer ones, so a plain count of them differs between the members.
	 */
	for (int odd_pairs = 0; odd_pairs < 2; odd_pairs++) {
		for (int first = odd_pairs; first + 1 < app_size; first += 2) {
			int pair[2] = {first, first + 1};
			MPI_Group two;

			if (app_rank != first && app_rank != first + 1)
				continue;
			MPI_Group_incl(all, 2, pair, &two);
			for (int again = 0; again < (odd_pairs ? 1 : 3); again++) {
				MPI_Comm_create_group(world, two, 100 + first, &comm);
				see_members("create_group", comm, pair, 2);
				MPI_Comm_free(&comm);
				pairs++;
			}
			MPI_Group_free(&two);
		}
	}
	app_say("groups, %d pairs", pairs);
	MPI_Group_free(&odd);
	MPI_Group_free(&all);
}

/* Lower half and upper half, joined again. */
static void across(void)
{
	int half = app_size / 2, low = app_rank < half, mine[64], all[64], n = 0, remote = 0,
	    is = 0;
	float f = 1, sum = 0;
	MPI_Comm part, inter, dup, merged;

	MPI_Comm_split(world, low, 0, &part);
	MPI_Intercomm_create(part, 0, world, low ? half : 0, 11, &inter);
	MPI_Comm_test_inter(inter, &is);
	MPI_Comm_remote_size(inter, &remote);
	CHECK(is && remote == (low ? app_size - half : half), "intercommunicator: remote size %d",
		remote);
	MPI_Allreduce(&f, &sum, 1, MPI_FLOAT, MPI_SUM, inter);
	CHECK(sum == (float)remote, "sum over the others %g, not %d", sum, remote);
	MPI_Comm_dup(inter, &dup);
	MPI_Barrier(dup);

	/* The upper half comes first. */
	MPI_Intercomm_merge(dup, low, &merged);
	for (int r = half; r < app_size; r++)
		all[n++] = r;
	for (int r = 0; r < half; r++)
		all[n++] = r;
	see_members("merge", merged, all, n);
	n = 0;
	for (int r = low ? 0 : half; r < (low ? half : app_size); r++)
		mine[n++] = r;
	see_members("half", part, mine, n);
	MPI_Comm_free(&merged);
	MPI_Comm_free(&dup);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&part);
	app_say("intercommunicators");
}

static void topologies(void)
{
	int dims[2] = {0, 0}, wrap[2] = {1, 0}, keep[2] = {0, 1}, at[2], list[64], n;
	int index[64], edges[128], next = (app_rank + 1) % app_size,
				   last = (app_rank + app_size - 1) % app_size;
	MPI_Comm cart, row, graph;

	MPI_Dims_create(app_size, 2, dims);
	MPI_Cart_create(world, 2, dims, wrap, 0, &cart);
	n = every(list, 0, 1);
	see_members("cart", cart, list, n);
	MPI_Cart_sub(cart, keep, &row);
	MPI_Cart_coords(cart, app_rank, 2, at);
	for (int i = 0; i < dims[1]; i++)
		list[i] = at[0] * dims[1] + i;
	see_members("cart_sub", row, list, dims[1]);
	MPI_Comm_free(&row);
	MPI_Comm_free(&cart);

	for (int r = 0; r < app_size; r++) {
		index[r] = 2 * (r + 1);
		edges[2 * r] = (r + app_size - 1) % app_size;
		edges[2 * r + 1] = (r + 1) % app_size;
	}
	n = every(list, 0, 1);
	MPI_Graph_create(world, app_size, index, edges, 0, &graph);
	see_members("graph", graph, list, n);
	MPI_Comm_free(&graph);
#ifndef OPEN_MPI /* 4.1 hangs now and then in this call; the adjacent form works */
	MPI_Dist_graph_create(
		world, 1, &app_rank, &(int){1}, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
	see_members("dist_graph", graph, list, n);
	MPI_Comm_free(&graph);
#endif
	MPI_Dist_graph_create_adjacent(world, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
		MPI_INFO_NULL, 0, &graph);
	see_members("dist_graph, adjacent", graph, list, n);
	MPI_Comm_free(&graph);
	app_say("topologies");
}

/* The handle of a freed communicator comes back for the next one, which has other members. */
static void reused(void)
{
	int all[64], parity[64], n_all = every(all, 0, 1),
				 n_parity = every(parity, app_rank % 2, 2);
	MPI_Comm comm, kept[8];

	for (int i = 0; i < REUSES; i++) {
		if (i % 2) {
			MPI_Comm_dup(world, &comm);
			see_members("dup again", comm, all, n_all);
		} else {
			MPI_Comm_split(world, app_rank % 2, 0, &comm);
			see_members("split again", comm, parity, n_parity);
		}
		if (i % 250 == 100)
			kept[i / 250] = comm;
		else
			MPI_Comm_free(&comm);
	}
	for (int i = 0; i < REUSES / 250; i++) {
		see_members("kept", kept[i], parity, n_parity);
		MPI_Comm_free(&kept[i]);
	}
	app_say("reused");
}

int main(int argc, char **argv)
{
	app_init(&argc, &argv);
	app_need_ranks(2);
	duplicates();
	splits();
	by_groups();
	across();
	topologies();
	reused();
	return app_done();
}
