/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is allowed before MPI_Init and after MPI_Finalize: questions, and with MPI 4 infos, error handlers, sessions.
 * `mpi_outside session` makes a session instead of MPI_Init.
 */
#include "app.h"
#include "mpi4.h"

#if HAS_MPI_4
/* A communicator in a program without MPI_COMM_WORLD. */
static int in_a_session(void)
{
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	float one = 1, sum = 0;
	int size;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
	MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
	MPI_Comm_create_from_group(
		group, "tests/mpi_outside", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
	MPI_Comm_size(comm, &size);
	MPI_Comm_rank(comm, &app_rank);
	MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, comm);
	CHECK(sum == (float)size, "sum in a session: %g of %d", sum, size);
	MPI_Comm_free(&comm);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
	app_say("session, ok, %lu checks", app_checks);
	return 0;
}

/* MPICH (4.0) and Open MPI 5.0.7 refuse and end the program, although MPI 4.0 lets it be called at any time. */
#if defined(MPICH_VERSION) || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION == 5 && \
				      OMPI_MINOR_VERSION == 0 && OMPI_RELEASE_VERSION <= 7)
#define HAS_EARLY_ERRHANDLERS 0
#else
#define HAS_EARLY_ERRHANDLERS 1
#endif

#if HAS_EARLY_ERRHANDLERS
static void handle(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
}
#endif

static void objects(void)
{
	char value[16];
	int len = sizeof(value), found;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "key", "value");
	MPI_Info_get_string(info, "key", &len, value, &found);
	CHECK(found && !strcmp(value, "value"), "info: %s", value);
	MPI_Info_free(&info);
#if HAS_EARLY_ERRHANDLERS
	MPI_Errhandler eh;

	MPI_Comm_create_errhandler(handle, &eh);
	MPI_Errhandler_free(&eh);
#endif
}
#else
static int in_a_session(void)
{
	app_say("skipped: this MPI has no sessions");
	return APP_SKIP;
}

static void objects(void)
{
}
#endif

static void ask(int started, int ended)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int major, minor, len, up = -1, down = -1;

	MPI_Get_version(&major, &minor);
	MPI_Get_library_version(text, &len);
	MPI_Initialized(&up);
	MPI_Finalized(&down);
	CHECK(major == MPI_VERSION && minor == MPI_SUBVERSION && len > 0, "version %d.%d", major,
		minor);
	CHECK(!up == !started && !down == !ended, "initialized %d, finalized %d, not %d, %d", up,
		down, started, ended);
}

int main(int argc, char **argv)
{
	float one = 1, sum = 0;
	int provided = -1, main_thread = 0;

	app_set_name(argv);
	ask(0, 0);
	objects();
	if (argc > 1)
		return in_a_session();
	MPI_Init(NULL, NULL);
	MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &app_size);
	ask(1, 0);
	MPI_Query_thread(&provided);
	MPI_Is_thread_main(&main_thread);
	CHECK(provided >= MPI_THREAD_SINGLE && main_thread, "thread level %d", provided);
	MPI_Allreduce(&one, &sum, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum == (float)app_size, "sum %g", sum);
	MPI_Finalize();
	ask(1, 1);
	objects();
	app_say("ok, %lu checks", app_checks);
	return 0;
}
