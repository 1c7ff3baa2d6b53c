/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/memory.h"

#define KERNEL_SIGSET_BYTES 8
#define EXTEND_PAGES 4096

/*
 * rt_sigprocmask() with an invalid `how`: the kernel first copies the set from the address
 * (EFAULT) and then checks `how` (EINVAL), so nothing ever changes. This is allowed in every
 * sandbox; process_vm_readv() is not, and mincore() does not detect missing permissions.
 */
static int probe_word_by_kernel(uintptr_t a)
{
	int saved = errno, err = 0;

	if (syscall(SYS_rt_sigprocmask, -1, (const void *)a, NULL, KERNEL_SIGSET_BYTES) < 0)
		err = errno;
	errno = saved;
	return err;
}

/*
 * False if a kernel (or an emulation of one) checks `how` first: then nothing outside the
 * thread's stack is read.
 */
static bool can_kernel_probe(void)
{
	static atomic_int known; /* 0: not yet, 1: yes, 2: no */
	int k = atomic_load_explicit(&known, memory_order_relaxed);
	uintptr_t here = 0;

	if (!k) {
		k = probe_word_by_kernel((uintptr_t)&here) == EINVAL &&
				    probe_word_by_kernel(8) == EFAULT
			    ? 1
			    : 2;
		atomic_store_explicit(&known, k, memory_order_relaxed);
	}
	return k == 1;
}

bool is_memory_readable(uintptr_t a)
{
	/* For a NULL set, the call succeeds whatever `how` is. */
	return a && can_kernel_probe() && probe_word_by_kernel(a) == EINVAL;
}

bool memory_extend(struct memory *m, uintptr_t a)
{
	uintptr_t page = a & ~(MEMORY_PAGE - 1), p = (m->lo + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);

	if (a >= m->lo)
		return true;
	if ((p - page) / MEMORY_PAGE > EXTEND_PAGES)
		return false;
	while (p > page) {
		p -= MEMORY_PAGE;
		if (!is_memory_readable(p))
			return false;
	}
	m->lo = page;
	return true;
}
