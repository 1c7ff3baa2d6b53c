/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "device/device.h"
#include "stack/memory.h"

/*
 * process_vm_readv on ourselves reads without a fault. Sandboxes refuse it (seccomp: EPERM; a kernel without it:
 * ENOSYS); then the kernel is asked in the way of stack/memory.c, which no sandbox refuses.
 */
static bool refused;

static bool readable(uintptr_t a)
{
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)a, 1};
	int err = errno;
	bool ok;

	if (__atomic_load_n(&refused, __ATOMIC_RELAXED))
		return memory_readable(a & ~(MEMORY_PAGE - 1));
	ok = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
	if (!ok && errno != EFAULT) {
		__atomic_store_n(&refused, true, __ATOMIC_RELAXED);
		ok = memory_readable(a & ~(MEMORY_PAGE - 1));
	}
	errno = err;
	return ok;
}

bool device_probe(const void *p, size_t bytes)
{
	uintptr_t first = (uintptr_t)p, last = first + bytes - 1;

	if (!bytes)
		return true;
	/* NULL is no buffer, even where page 0 is mapped; nor is a range that wraps around. */
	if (!p || last < first)
		return false;
	return readable(first) && ((first ^ last) < MEMORY_PAGE || readable(last));
}
