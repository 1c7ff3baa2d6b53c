/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libulfm.so: ULFM for programs in which nothing fails, on top of an MPI that has only the names (MPICH 4.0.2 ends in an
 * assertion). Preloaded after libprobe.so, past which it calls MPI, as a library does that has them itself; tests only.
 */
#include <dlfcn.h>
#include <mpi.h>

int MPIX_Comm_agree(MPI_Comm comm, int *flag)
{
	int (*reduce)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm) =
		(int (*)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))dlsym(
			RTLD_NEXT, "PMPI_Allreduce");

	return reduce(MPI_IN_PLACE, flag, 1, MPI_INT, MPI_BAND, comm);
}

int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *out)
{
	int (*dup)(MPI_Comm, MPI_Comm *) =
		(int (*)(MPI_Comm, MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_dup");

	return dup(comm, out);
}

int MPIX_Comm_revoke(MPI_Comm comm)
{
	(void)comm;
	return MPI_SUCCESS;
}
