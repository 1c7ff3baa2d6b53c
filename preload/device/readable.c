/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "device/device.h"
#include "elf/memory.h"

/*
 * True if the page can be read. There are two ways to let the kernel test memory, neither of
 * which can fault. The one in elf/memory.c takes 0.1 us on all kernels. process_vm_readv() on the
 * own process takes several times as long (on some kernels 20 us), and sandboxes refuse it, so it
 * is only used on kernels that do not support the first way. If neither works, nothing counts as
 * readable.
 */
static bool is_page_readable(uintptr_t a)
{
	uintptr_t here = 0;
	char byte;
	struct iovec to = {&byte, 1}, from = {(void *)a, 1};
	int err = errno;
	bool ok;

	/* Access permissions apply to whole pages. */
	if (is_memory_readable(a & ~(MEMORY_PAGE - 1)))
		return true;
	if (is_memory_readable((uintptr_t)&here))
		return false;
	ok = process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1;
	errno = err;
	return ok;
}

bool device_probe(const void *p, size_t bytes)
{
	uintptr_t first = (uintptr_t)p, last = first + bytes - 1;

	if (!bytes)
		return true;
	/*
	 * NULL is never a buffer, even if page 0 is mapped; nor is a range that wraps around the
	 * end of the address space.
	 */
	if (!p || last < first)
		return false;
	return is_page_readable(first) && ((first ^ last) < MEMORY_PAGE || is_page_readable(last));
}
