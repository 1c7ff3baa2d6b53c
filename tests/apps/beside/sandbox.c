/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox ERRNO COMMAND...: with a seccomp filter under which system calls that a program can do without fail with that
 * number: those of debuggers, schedulers and memory advice, of file systems and locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const int refused[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
		SYS_perf_event_open, SYS_memfd_create, SYS_sched_setscheduler,
		SYS_sched_setaffinity, SYS_setpriority, SYS_madvise, SYS_mlock, SYS_statfs,
		SYS_fstatfs, SYS_flock, SYS_membarrier, SYS_rseq, SYS_userfaultfd, SYS_sysinfo};
	enum { N = sizeof(refused) / sizeof(refused[0]) };
	struct sock_filter code[N + 3];
	struct sock_fprog prog = {.len = N + 3, .filter = code};

	if (argc < 3)
		return 2;
	code[0] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < N; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)refused[i], (unsigned char)(N - i), 0);
	code[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[N + 2] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((unsigned)atoi(argv[1]) & SECCOMP_RET_DATA));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("sandbox");
		return 77;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
