/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out by weak references which functions there are, as mpi4py's wheels do. */
int MPI_Bcast_c(void *, long, void *, int, void *) __attribute__((weak));
int MPI_Init(int *, char ***) __attribute__((weak));

int has_bcast_c(void)
{
	return MPI_Bcast_c != 0;
}

void *where_bcast_c(void)
{
	return (void *)MPI_Bcast_c;
}

int has_init(void)
{
	return MPI_Init != 0;
}
