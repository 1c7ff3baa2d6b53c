/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/death.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define PAGE_BYTES 4096u
/* The file's time is that of the last tick of the kernel's clock. */
#define TICK_NS UINT64_C(10000000)

_Static_assert(offsetof(struct journal_head, lock) % PAGE_BYTES + sizeof(struct journal_lock) <=
		       PAGE_BYTES,
	"the lock lies in one page");

void begin_death_watch(struct death_watch *w, struct journal *j)
{
	size_t at = offsetof(struct journal_head, lock), page = at / PAGE_BYTES * PAGE_BYTES;
	struct journal_lock *lock = &j->head->lock;
	char *again;

	*w = (struct death_watch){.page = NULL};
	if (j->kind != JK_FILE)
		return;
	/* Of a shared mapping, from 0 bytes: the same page a second time. */
	again = mremap((char *)j->head + page, 0, PAGE_BYTES, MREMAP_MAYMOVE);
	if (again == MAP_FAILED)
		return;
	madvise(again, PAGE_BYTES, MADV_DONTFORK);
	lock->next = (uint64_t)(uintptr_t)&w->list.list;
	lock->word = (uint32_t)syscall(SYS_gettid);
	w->page = again;
	w->list.list.next = (struct robust_list *)(void *)(again + (at - page));
	w->list.futex_offset =
		(long)(offsetof(struct journal_lock, word) - offsetof(struct journal_lock, next));
	/* In place of the C library's own, which is empty: this thread takes no lock of the program's. */
	if (syscall(SYS_set_robust_list, &w->list, sizeof(w->list)) < 0)
		end_death_watch(w);
}

void end_death_watch(struct death_watch *w)
{
	w->list.list.next = &w->list.list;
	if (w->page)
		munmap(w->page, PAGE_BYTES);
	w->page = NULL;
}

uint64_t find_moment_of_death(const struct journal_head *h, int fd, const struct stat *st)
{
	uint64_t at = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	struct statfs fs;

	if (!(h->lock.word & FUTEX_OWNER_DIED) || fstatfs(fd, &fs) < 0 ||
		fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return 0;
	/* It lived then. */
	return at + TICK_NS >= h->clock_last.real_ns ? at : 0;
}
