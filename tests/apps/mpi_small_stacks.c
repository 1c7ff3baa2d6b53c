/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_small_stacks [BYTES ...]: a thread with so much stack for each number makes calls of all kinds, one after the other;
 * without numbers from 16 to 22 KiB. The first records before any other does. Then a fiber and a signal handler on
 * an alternate stack. Whether MPI itself needs more is seen without a preload.
 */
#include "app.h"
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

enum { LEN = 600, TURNS = 20, FIBER = 1 << 20 };

static float in[LEN], out[LEN], moved[LEN];
static MPI_Comm comm;
static unsigned long turns_made;
static const char *wrong;

static void fill(int turn)
{
	for (int i = 0; i < LEN; i++)
		in[i] = (float)(app_rank + turn + i);
}

/* Nothing here may take much stack: what is wrong is reported by the main thread. */
static void check(const float *have, float scale, float offset, int turn, const char *what)
{
	for (int i = 0; i < LEN; i++)
		if (have[i] != scale * (float)(turn + i) + offset)
			wrong = what;
	turns_made++;
}

static void make_calls(int turn)
{
	int right = (app_rank + 1) % app_size, left = (app_rank + app_size - 1) % app_size;
	float ranks = (float)(app_size * (app_size - 1) / 2);

	fill(turn);
	MPI_Allreduce(in, out, LEN, MPI_FLOAT, MPI_SUM, comm);
	check(out, (float)app_size, ranks, turn, "all-reduce");
	MPI_Bcast(out, LEN, MPI_FLOAT, 0, comm);
	check(out, (float)app_size, ranks, turn, "broadcast");
	MPI_Sendrecv(in, LEN, MPI_FLOAT, right, 7, moved, LEN, MPI_FLOAT, left, 7, comm,
		MPI_STATUS_IGNORE);
	check(moved, 1, (float)left, turn, "message");
}

static void call_requests(int turn)
{
	MPI_Request req;
	MPI_Status st;
	int done = 0;

	fill(turn);
	MPI_Iallreduce(in, out, LEN, MPI_FLOAT, MPI_MAX, comm, &req);
	while (!done)
		MPI_Test(&req, &done, &st);
	check(out, 1, (float)(app_size - 1), turn, "largest");
	MPI_Ibarrier(comm, &req);
	MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void *work(void *arg)
{
	(void)arg;
	for (int turn = 0; turn < TURNS; turn++) {
		make_calls(turn);
		call_requests(turn);
	}
	return NULL;
}

static void run_thread(size_t bytes)
{
	pthread_attr_t a;
	pthread_t t;

	/* To make a communicator takes MPICH more than 22 KiB. */
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	pthread_attr_init(&a);
	if (pthread_attr_setstacksize(&a, bytes) || pthread_create(&t, &a, work, NULL))
		app_fail(__FILE__, __LINE__, "no thread with %lu bytes", (unsigned long)bytes);
	pthread_join(t, NULL);
	pthread_attr_destroy(&a);
	MPI_Comm_free(&comm);
	if (wrong)
		app_fail(__FILE__, __LINE__, "%lu bytes: %s", (unsigned long)bytes, wrong);
}

static ucontext_t outside, fiber;

static void run_fiber(void)
{
	for (int turn = 0; turn < TURNS; turn++) {
		make_calls(turn);
		swapcontext(&fiber, &outside);
	}
}

static void on_signal(int s)
{
	make_calls(s);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = {"16384", "18432", "20480", "22528"};
	static char fiber_stack[FIBER], signal_stack[FIBER];
	stack_t alternate = {.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)};
	struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	int provided;

	app_set_name(argv);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &app_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &app_size);
	if (provided < MPI_THREAD_MULTIPLE) {
		app_say("skipped: this MPI has no MPI_THREAD_MULTIPLE");
		MPI_Finalize();
		return APP_SKIP;
	}
	if (argc > 1)
		for (int i = 1; i < argc; i++)
			run_thread(strtoul(argv[i], NULL, 0));
	else
		for (int i = 0; i < 4; i++)
			run_thread(strtoul(usual[i], NULL, 0));
	comm = MPI_COMM_WORLD;
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = fiber_stack;
	fiber.uc_stack.ss_size = sizeof(fiber_stack);
	fiber.uc_link = &outside;
	makecontext(&fiber, run_fiber, 0);
	for (int turn = 0; turn < TURNS; turn++)
		swapcontext(&outside, &fiber);
	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &act, NULL);
	for (int turn = 0; turn < TURNS; turn++)
		raise(SIGUSR1);
	if (wrong)
		app_fail(__FILE__, __LINE__, "%s", wrong);
	app_checks += turns_made;
	return app_done();
}
