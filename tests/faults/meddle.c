/* SPDX-License-Identifier: Apache-2.0 */
/* An MPI with faults on request: preloaded after libprobe.so, so that libprobe sees it as the library. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int meddle_now,
	meddle_delay_us; /* 1: flip a bit of this rank's result; 2: leave its contribution out */

static int taken(void)
{
	int what = meddle_now;

	meddle_now = 0;
	return what;
}

static void flip_bit(void *p, int count)
{
	((unsigned char *)p)[(size_t)(count / 2) * 4 + 2] ^= 0x40;
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int what = taken(), err, bytes;

	MPI_Type_size(type, &bytes);
	if (what != 2) {
		err = PMPI_Allreduce(in, out, count, type, op, comm);
		if (what == 1)
			flip_bit(out, count);
		return err;
	}

	void *none = calloc((size_t)count, (size_t)bytes);

	err = PMPI_Allreduce(none, out, count, type, op, comm);
	free(none);
	return err;
}

int MPI_Bcast(void *p, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	int what = taken(), err = PMPI_Bcast(p, count, type, root, comm);

	if (what == 1)
		flip_bit(p, count);
	return err;
}

/* What one rank sends, with a bit flipped (what 2), or what it receives (what 1). Of floats, of one size on all ranks. */
static const void *spoil_input(int what, const void *p, int count)
{
	char *copy = what == 2 && p != MPI_IN_PLACE ? malloc((size_t)count * 4) : NULL;

	if (!copy)
		return p;
	memcpy(copy, p, (size_t)count * 4);
	flip_bit(copy, count);
	return copy;
}

static void pass_result(int what, const void *sent, const void *own, void *out, int count)
{
	if (sent != own)
		free((void *)(size_t)sent);
	if (what == 1 && count)
		flip_bit(out, count);
}

static int count_ranks(MPI_Comm comm)
{
	int n;

	PMPI_Comm_size(comm, &n);
	return n;
}

static int is_root(int root, MPI_Comm comm)
{
	int me;

	PMPI_Comm_rank(comm, &me);
	return me == root;
}

int MPI_Reduce(
	const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, count);

	err = PMPI_Reduce(sent, out, count, type, op, root, comm);
	pass_result(what, sent, in, out, is_root(root, comm) ? count : 0);
	return err;
}

int MPI_Gather(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to,
	int root, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, n);

	err = PMPI_Gather(sent, n, type, out, m, to, root, comm);
	pass_result(what, sent, in, out, is_root(root, comm) ? m * count_ranks(comm) : 0);
	return err;
}

int MPI_Scatter(const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to,
	int root, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = is_root(root, comm) ? spoil_input(what, in, n * count_ranks(comm)) : in;

	err = PMPI_Scatter(sent, n, type, out, m, to, root, comm);
	pass_result(what, sent, in, out, m);
	return err;
}

int MPI_Allgather(
	const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, n);

	err = PMPI_Allgather(sent, n, type, out, m, to, comm);
	pass_result(what, sent, in, out, m * count_ranks(comm));
	return err;
}

int MPI_Alltoall(
	const void *in, int n, MPI_Datatype type, void *out, int m, MPI_Datatype to, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, n * count_ranks(comm));

	err = PMPI_Alltoall(sent, n, type, out, m, to, comm);
	pass_result(what, sent, in, out, m * count_ranks(comm));
	return err;
}

int MPI_Gatherv(const void *in, int n, MPI_Datatype type, void *out, const int m[], const int at[],
	MPI_Datatype to, int root, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, n);

	err = PMPI_Gatherv(sent, n, type, out, m, at, to, root, comm);
	pass_result(what, sent, in, out, is_root(root, comm) ? m[0] : 0);
	return err;
}

int MPI_Scatterv(const void *in, const int n[], const int at[], MPI_Datatype type, void *out, int m,
	MPI_Datatype to, int root, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = is_root(root, comm)
				   ? spoil_input(what, in,
					     at[count_ranks(comm) - 1] + n[count_ranks(comm) - 1])
				   : in;

	err = PMPI_Scatterv(sent, n, at, type, out, m, to, root, comm);
	pass_result(what, sent, in, out, m);
	return err;
}

int MPI_Allgatherv(const void *in, int n, MPI_Datatype type, void *out, const int m[],
	const int at[], MPI_Datatype to, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, n);

	err = PMPI_Allgatherv(sent, n, type, out, m, at, to, comm);
	pass_result(what, sent, in, out, m[0]);
	return err;
}

int MPI_Alltoallv(const void *in, const int n[], const int from[], MPI_Datatype type, void *out,
	const int m[], const int at[], MPI_Datatype to, MPI_Comm comm)
{
	int what = taken(), err;

	err = PMPI_Alltoallv(in, n, from, type, out, m, at, to, comm);
	pass_result(what, in, in, out, m[0]);
	return err;
}

int MPI_Reduce_scatter_block(
	const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, n * count_ranks(comm));

	err = PMPI_Reduce_scatter_block(sent, out, n, type, op, comm);
	pass_result(what, sent, in, out, n);
	return err;
}

int MPI_Reduce_scatter(
	const void *in, void *out, const int n[], MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int what = taken(), err, me;

	PMPI_Comm_rank(comm, &me);
	err = PMPI_Reduce_scatter(in, out, n, type, op, comm);
	pass_result(what, in, in, out, n[me]);
	return err;
}

int MPI_Scan(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int what = taken(), err;
	const void *sent = spoil_input(what, in, count);

	err = PMPI_Scan(sent, out, count, type, op, comm);
	pass_result(what, sent, in, out, count);
	return err;
}

int MPI_Recv(
	void *p, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	int err = PMPI_Recv(p, count, type, from, tag, comm, status);

	if (meddle_delay_us)
		usleep((unsigned)meddle_delay_us);
	return err;
}
