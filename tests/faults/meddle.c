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

int MPI_Recv(
	void *p, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
	int err = PMPI_Recv(p, count, type, from, tag, comm, status);

	if (meddle_delay_us)
		usleep((unsigned)meddle_delay_us);
	return err;
}
