/* SPDX-License-Identifier: Apache-2.0 */
/* Another tool in a preload chain: counts MPI_Allreduce and hands it on to the next one; the number goes to $DUMMY_TOOL. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int calls;

/* Handles are ints or pointers: all arguments fit registers. */
int MPI_Allreduce(const void *in, void *out, int n, void *type, void *op, void *comm);

int MPI_Allreduce(const void *in, void *out, int n, void *type, void *op, void *comm)
{
	int (*next)(const void *, void *, int, void *, void *, void *);

	*(void **)&next = dlsym(RTLD_NEXT, "MPI_Allreduce");
	calls++;
	return next(in, out, n, type, op, comm);
}

__attribute__((destructor)) static void done(void)
{
	const char *path = getenv("DUMMY_TOOL");
	FILE *f = path ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "%d\n", calls);
	fclose(f);
}
