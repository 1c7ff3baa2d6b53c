/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread does in 100,000 calls once all is warm: memory asked for, locks taken (steady_count.c, preloaded), and
 * with the argument `trap` system calls: a seccomp filter for this thread makes every one a SIGSYS, whose handler
 * counts it. The process cannot end in an orderly way after that; its records stay in the journal.
 *
 *	steady [trap | lock]    prints "memory N, locks N, system calls N (the first: NUMBER)"; `lock`: makes a lock,
 *	                        an allocation and a system call per call itself, which must show
 *
 * Built against a real MPI, or against the empty one of tests/bench (-DSTANDIN).
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef STANDIN
#include "standin.h"
#define COMM MPI_COMM_WORLD
typedef int request_t;
#else
#include <mpi.h>
#define COMM MPI_COMM_SELF
typedef MPI_Request request_t;
#endif
#include "preload/probe.h"

#define CALLS 100000L
#define WARM 110000L

__attribute__((weak)) void steady_counts(unsigned long *memory, unsigned long *locks);

static volatile unsigned long trapped;
static volatile int first = -1;

static void on_trap(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	if (!trapped++)
		first = info->si_syscall;
}

/* False: it cannot be done here. */
static int trap_system_calls(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = sizeof(f) / sizeof(*f), .filter = f};
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSYS, &sa, NULL);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static float in[256], out[256];
static request_t request;
static int ready;
static void *volatile kept;

static void calls(long n, int bad)
{
	for (long i = 0; i < n; i += 4) {
		MPI_Allreduce(in, out, 256, MPI_FLOAT, MPI_SUM, COMM);
		MPI_Bcast(in, 64, MPI_FLOAT, 0, COMM);
		MPI_Allreduce(in, out, 1, MPI_FLOAT, MPI_SUM, COMM);
		MPI_Test(&request, &ready, MPI_STATUS_IGNORE);
		if (bad) {
			pthread_mutex_lock(&mutex);
			pthread_mutex_unlock(&mutex);
			kept = malloc(10);
			free(kept);
			syscall(SYS_getppid);
		}
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned long memory[2] = {0, 0}, locks[2] = {0, 0};
	int bad = strcmp(mode, "lock") == 0;
	char line[200];

	MPI_Init(&argc, &argv);
#ifdef STANDIN
	MPI_Isend(in, 1, MPI_FLOAT, 0, 1, COMM, &request);
#else
	/* It has no sender: it is never complete. */
	MPI_Irecv(out, 1, MPI_FLOAT, 0, 1, COMM, &request);
#endif
	/*
	 * First the journal is used as far as it is going to be, and written. All calls come from one place: from another
	 * one a stack would be new.
	 */
	for (int phase = 0; phase < 3; phase++) {
		if (phase == 2 && mode[0] && !trap_system_calls())
			return 77;
		if (phase == 2 && steady_counts)
			steady_counts(&memory[0], &locks[0]);
		calls(phase == 0 ? WARM : phase == 1 ? 1000 : CALLS, bad && phase == 2);
		if (phase == 2 && steady_counts)
			steady_counts(&memory[1], &locks[1]);
		if (phase == 0 && probe_flush)
			probe_flush();
	}

	unsigned long t = trapped;
	int n = snprintf(line, sizeof(line),
		"memory %lu, locks %lu, system calls %lu (the first: %d)\n", memory[1] - memory[0],
		locks[1] - locks[0], t, first);

	if (write(1, line, (size_t)n) != n)
		return 1;
	if (mode[0])
		syscall(SYS_exit_group, 0);
	MPI_Cancel(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Finalize();
	return 0;
}
