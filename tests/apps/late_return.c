/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libmpilate.so: a PMPI tool that stands after another one. The functions that complete or free what a handle stands for
 * return LATE_US (300) microseconds after MPI has done it: meanwhile MPI gives the handle to other threads.
 * LATE_REFUSE=N: each Nth call of a function that frees, and of MPI_Wait, fails and does nothing.
 *
 * Calls on windows and files come one at a time: Open MPI 4.1 has no windows for several threads, and MPICH 4.0 dies of files.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned setting_of(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)atoi(text) : otherwise;
}

static int return_late(int rc)
{
	usleep(setting_of("LATE_US", 300));
	return rc;
}

static int refuses(void)
{
	static _Atomic unsigned calls;
	unsigned each = setting_of("LATE_REFUSE", 0);

	return each && ++calls % each == 0;
}

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

#define ALONE(name, parameters, arguments)            \
	static int alone_##name parameters            \
	{                                             \
		int rc;                               \
                                                      \
		pthread_mutex_lock(&one_at_a_time);   \
		rc = PMPI_##name arguments;           \
		pthread_mutex_unlock(&one_at_a_time); \
		return rc;                            \
	}
#define IN_TURN(name, parameters, arguments)   \
	ALONE(name, parameters, arguments)     \
	int MPI_##name parameters              \
	{                                      \
		return alone_##name arguments; \
	}
#define COMPLETES(name, parameters, arguments)             \
	int MPI_##name parameters                          \
	{                                                  \
		return return_late(PMPI_##name arguments); \
	}
#define FREES_BY(function, name, parameters, arguments)                              \
	int MPI_##name parameters                                                    \
	{                                                                            \
		return refuses() ? MPI_ERR_INTERN : return_late(function arguments); \
	}
#define FREES(name, parameters, arguments) FREES_BY(PMPI_##name, name, parameters, arguments)
#define FREES_IN_TURN(name, parameters, arguments) \
	ALONE(name, parameters, arguments)         \
	FREES_BY(alone_##name, name, parameters, arguments)

FREES(Request_free, (MPI_Request * request), (request))
FREES(Wait, (MPI_Request * request, MPI_Status *status), (request, status))
FREES(Comm_free, (MPI_Comm * comm), (comm))
FREES(Type_free, (MPI_Datatype * type), (type))
FREES(Op_free, (MPI_Op * op), (op))
FREES(Group_free, (MPI_Group * group), (group))
FREES_IN_TURN(Win_free, (MPI_Win * win), (win))
FREES_IN_TURN(File_close, (MPI_File * file), (file))
IN_TURN(Win_create,
	(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
	(base, bytes, unit, info, comm, win))
IN_TURN(Win_fence, (int mode, MPI_Win win), (mode, win))
IN_TURN(Get,
	(void *at, int n, MPI_Datatype t, int rank, MPI_Aint from, int m, MPI_Datatype u,
		MPI_Win win),
	(at, n, t, rank, from, m, u, win))
IN_TURN(File_open, (MPI_Comm comm, const char *path, int mode, MPI_Info info, MPI_File *file),
	(comm, path, mode, info, file))
IN_TURN(File_write_at,
	(MPI_File file, MPI_Offset at, const void *from, int n, MPI_Datatype t, MPI_Status *s),
	(file, at, from, n, t, s))
IN_TURN(File_read_at,
	(MPI_File file, MPI_Offset at, void *to, int n, MPI_Datatype t, MPI_Status *s),
	(file, at, to, n, t, s))
COMPLETES(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status))
COMPLETES(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
COMPLETES(Testall, (int n, MPI_Request r[], int *flag, MPI_Status s[]), (n, r, flag, s))
COMPLETES(Waitany, (int n, MPI_Request r[], int *index, MPI_Status *s), (n, r, index, s))
COMPLETES(Testany, (int n, MPI_Request r[], int *index, int *flag, MPI_Status *s),
	(n, r, index, flag, s))
COMPLETES(Waitsome, (int n, MPI_Request r[], int *count, int indices[], MPI_Status s[]),
	(n, r, count, indices, s))
COMPLETES(Testsome, (int n, MPI_Request r[], int *count, int indices[], MPI_Status s[]),
	(n, r, count, indices, s))
