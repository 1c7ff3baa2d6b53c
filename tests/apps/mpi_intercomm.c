/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives between two groups: rank 0 alone, and all others. What an MPI refuses is printed; that must be the
 * same with a preloaded tool.
 */
#include "app.h"
#include "completion.h"

enum { LEN = 50, MAX = 64 };

static MPI_Comm inter;
static int first; /* this rank is in the group of world rank 0 */
static int mine, others, me; /* sizes of the groups, rank in this one */

/* 0 where the call worked; says which one this MPI refuses. */
static int refused(const char *name, int rc)
{
	int class;

	if (rc == MPI_SUCCESS)
		return 0;
	MPI_Error_class(rc, &class);
	app_say("%s is refused, class %d", name, class);
	return 1;
}

/* The root argument: world rank 0 is the root, or the last of the others. */
static int root_of(int from_first)
{
	if (from_first)
		return first ? MPI_ROOT : 0;
	return !first ? (me == mine - 1 ? MPI_ROOT : MPI_PROC_NULL) : others - 1;
}

static float term(int world_rank, int i)
{
	return (float)(world_rank * 100 + i);
}

/* Sum of term(r, i) over the other group, whose world ranks are consecutive. */
static float sum_of_others(int i)
{
	float sum = 0;

	for (int r = 0; r < app_size; r++)
		sum += (r != 0) == first ? term(r, i) : 0;
	return sum;
}

static int other(int k)
{
	return first ? k + 1 : k;
}

static void prepare(float *out, float *in)
{
	for (int i = 0; i < LEN * MAX; i++)
		in[i] = -1;
	for (int i = 0; i < LEN * MAX; i++)
		out[i] = term(app_rank, i);
}

#define SEE(what, got, want)                                                          \
	do {                                                                          \
		float got_ = (got), want_ = (want);                                   \
		CHECK(got_ == want_, "%s: [%d] is %g, not %g", what, i, got_, want_); \
		app_mix(&got_, sizeof(got_));                                         \
	} while (0)

static void rooted(int from_first)
{
	static float out[LEN * MAX], in[LEN * MAX];
	int root = root_of(from_first), counts[MAX], displs[MAX], n = others;

	for (int k = 0; k < MAX; k++) {
		counts[k] = k % LEN;
		displs[k] = k * LEN;
	}
	prepare(out, in);
	if (!refused(
		    "Bcast", MPI_Bcast(root == MPI_ROOT ? out : in, LEN, MPI_FLOAT, root, inter))) {
		for (int i = 0; root >= 0 && i < LEN; i++)
			SEE("Bcast", in[i], term(other(root), i));
	}
	prepare(out, in);
	if (!refused("Reduce", MPI_Reduce(out, in, LEN, MPI_FLOAT, MPI_SUM, root, inter))) {
		for (int i = 0; root == MPI_ROOT && i < LEN; i++)
			SEE("Reduce", in[i], sum_of_others(i));
	}
	prepare(out, in);
	if (!refused("Gather", MPI_Gather(out, LEN, MPI_FLOAT, in, LEN, MPI_FLOAT, root, inter))) {
		for (int i = 0; root == MPI_ROOT && i < n * LEN; i++)
			SEE("Gather", in[i], term(other(i / LEN), i % LEN));
	}
	prepare(out, in);
	if (!refused(
		    "Scatter", MPI_Scatter(out, LEN, MPI_FLOAT, in, LEN, MPI_FLOAT, root, inter))) {
		for (int i = 0; root >= 0 && i < LEN; i++)
			SEE("Scatter", in[i], term(other(root), me * LEN + i));
	}
	prepare(out, in);
	if (!refused("Gatherv", MPI_Gatherv(out, me % LEN, MPI_FLOAT, in, counts, displs, MPI_FLOAT,
					root, inter))) {
		for (int i = 0; root == MPI_ROOT && i < n * LEN; i++)
			SEE("Gatherv", in[i],
				i % LEN < (i / LEN) % LEN ? term(other(i / LEN), i % LEN) : -1);
	}
	prepare(out, in);
	if (!refused("Scatterv", MPI_Scatterv(out, counts, displs, MPI_FLOAT, in, me % LEN,
					 MPI_FLOAT, root, inter))) {
		for (int i = 0; root >= 0 && i < LEN; i++)
			SEE("Scatterv", in[i], i < me % LEN ? term(other(root), me * LEN + i) : -1);
	}
	app_say("rooted %s", from_first ? "at the first group" : "at the second group");
}

static void all_to_all(void)
{
	static float out[LEN * MAX], in[LEN * MAX];
	int counts[MAX], displs[MAX], total = LEN * 6;

	for (int k = 0; k < MAX; k++) {
		counts[k] = 1 + k % 3;
		displs[k] = k * LEN;
	}
	CHECK(!refused("Barrier", MPI_Barrier(inter)), "Barrier");
	prepare(out, in);
	if (!refused("Allreduce", MPI_Allreduce(out, in, LEN, MPI_FLOAT, MPI_SUM, inter))) {
		for (int i = 0; i < LEN; i++)
			SEE("Allreduce", in[i], sum_of_others(i));
	}
	prepare(out, in);
	if (!refused("Allgather", MPI_Allgather(out, LEN, MPI_FLOAT, in, LEN, MPI_FLOAT, inter))) {
		for (int i = 0; i < others * LEN; i++)
			SEE("Allgather", in[i], term(other(i / LEN), i % LEN));
	}
	prepare(out, in);
	if (!refused("Allgatherv", MPI_Allgatherv(out, counts[me], MPI_FLOAT, in, counts, displs,
					   MPI_FLOAT, inter))) {
		for (int i = 0; i < others * LEN; i++)
			SEE("Allgatherv", in[i],
				i % LEN < counts[i / LEN] ? term(other(i / LEN), i % LEN) : -1);
	}
	prepare(out, in);
	if (!refused("Alltoall", MPI_Alltoall(out, LEN, MPI_FLOAT, in, LEN, MPI_FLOAT, inter))) {
		for (int i = 0; i < others * LEN; i++)
			SEE("Alltoall", in[i], term(other(i / LEN), me * LEN + i % LEN));
	}
	prepare(out, in);
	for (int k = 0; k < MAX; k++)
		counts[k] = 1 + (k + me) % 3;
	if (!refused("Alltoallv", MPI_Alltoallv(out, counts, displs, MPI_FLOAT, in, counts, displs,
					  MPI_FLOAT, inter))) {
		for (int i = 0; i < others * LEN; i++)
			SEE("Alltoallv", in[i],
				i % LEN < counts[i / LEN] ? term(other(i / LEN), me * LEN + i % LEN)
							  : -1);
	}
	/* Both groups get the same total, so the parts of their members are of different sizes. */
	prepare(out, in);
	for (int k = 0; k < mine; k++)
		counts[k] = total / mine + (k == 0 ? total % mine : 0);
	if (!refused("Reduce_scatter",
		    MPI_Reduce_scatter(out, in, counts, MPI_FLOAT, MPI_SUM, inter))) {
		int at = me ? me * (total / mine) + total % mine : 0;

		for (int i = 0; i < counts[me]; i++)
			SEE("Reduce_scatter", in[i], sum_of_others(at + i));
	}
	prepare(out, in);
	if (!refused("Reduce_scatter_block",
		    MPI_Reduce_scatter_block(out, in, 6 * others, MPI_FLOAT, MPI_SUM, inter))) {
		for (int i = 0; i < 6 * others; i++)
			SEE("Reduce_scatter_block", in[i], sum_of_others(me * 6 * others + i));
	}
	app_say("all to all");
}

static void nonblocking(void)
{
	static float out[LEN * MAX], in[4][LEN * MAX];
	int root = root_of(1);
	MPI_Request req[4];

	for (int way = 0; way < N_WAYS; way++) {
		for (int k = 0; k < 4; k++)
			prepare(out, in[k]);
		MPI_Iallreduce(out, in[0], LEN, MPI_FLOAT, MPI_SUM, inter, &req[0]);
		MPI_Ibcast(first ? out : in[1], LEN, MPI_FLOAT, root, inter, &req[1]);
		MPI_Iallgather(out, LEN, MPI_FLOAT, in[2], LEN, MPI_FLOAT, inter, &req[2]);
		MPI_Igather(out, LEN, MPI_FLOAT, in[3], LEN, MPI_FLOAT, root, inter, &req[3]);
		complete((enum way)way, 4, req, NULL);
		for (int i = 0; i < LEN; i++) {
			SEE("Iallreduce", in[0][i], sum_of_others(i));
			SEE("Ibcast", in[1][i], first ? -1 : term(0, i));
		}
		for (int i = 0; i < others * LEN; i++) {
			SEE("Iallgather", in[2][i], term(other(i / LEN), i % LEN));
			SEE("Igather", in[3][i], first ? term(other(i / LEN), i % LEN) : -1);
		}
	}
	app_say("non-blocking");
}

/* Ranks of messages are those of the other group. */
static void messages(void)
{
	int x = app_rank, got = -1;
	MPI_Status st;

	for (int k = 0; first && k < others; k++) {
		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, k, inter, &st);
		CHECK(got == k + 1 && st.MPI_SOURCE == k, "message %d: %d from %d", k, got,
			st.MPI_SOURCE);
		MPI_Send(&x, 1, MPI_INT, k, k, inter);
	}
	if (!first) {
		MPI_Send(&x, 1, MPI_INT, 0, me, inter);
		MPI_Recv(&got, 1, MPI_INT, 0, me, inter, MPI_STATUS_IGNORE);
		CHECK(got == 0, "message to %d: %d", me, got);
	}
	app_say("messages");
}

int main(int argc, char **argv)
{
	MPI_Comm part;

	app_init(&argc, &argv);
	app_need_ranks(2);
	first = app_rank == 0;
	MPI_Comm_split(MPI_COMM_WORLD, first, 0, &part);
	MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, first ? 1 : 0, 5, &inter);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	MPI_Comm_rank(inter, &me);
	MPI_Comm_size(inter, &mine);
	MPI_Comm_remote_size(inter, &others);
	rooted(1);
	rooted(0);
	all_to_all();
	nonblocking();
	messages();
	MPI_Comm_free(&inter);
	MPI_Comm_free(&part);
	return app_done();
}
