/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that fail before anything is read, with unreadable pointers: nccl_pointers. A tool that looks at the
 * buffers must not be the one that crashes. 1 rank.
 */
#include <sys/mman.h>

#include "nccl_app.h"

static void call(const char *what, const void *p, size_t n, ncclComm_t c)
{
	/* No such root. */
	ncclResult_t r = ncclReduce(p, (void *)(uintptr_t)p, n, ncclFloat32, ncclSum, 9, c, NULL);

	printf("%s %d\n", what, r);
}

int main(void)
{
	ncclComm_t c = app_init();
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *m = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED || mprotect(m + 2 * page, page, PROT_NONE))
		return 2;
	for (size_t i = 0; i < 2 * page / 4; i++)
		((float *)m)[i] = 1;
	call("good", m, 16, c);
	call("good to the end", m, 2 * page / 4, c);
	call("null", NULL, 16, c);
	call("low", (void *)8, 16, c);
	call("protected", m + 2 * page, 16, c);
	call("unmapped", (void *)0x100000, 16, c);
	call("ends in protected", m + 2 * page - 8, 4, c);
	call("not canonical", (void *)0x8000000000000000ull, 16, c);
	call("wraps around", (void *)-64ll, 64, c);
	NCCL(ncclCommDestroy(c));
	return 0;
}
