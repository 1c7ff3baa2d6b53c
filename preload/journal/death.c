/* SPDX-License-Identifier: Apache-2.0 */
#include "journal/death.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/tid.h"

#define PAGE_BYTES 4096u
/* File times have the resolution of the kernel's clock tick. */
#define TICK_NS UINT64_C(10000000)

_Static_assert(offsetof(struct journal_head, lock) % PAGE_BYTES + sizeof(struct journal_lock) <=
		       PAGE_BYTES,
	"the lock lies in one page");

void start_death_watch(struct death_watch *w, struct journal *j)
{
	size_t at = offsetof(struct journal_head, lock), page = at / PAGE_BYTES * PAGE_BYTES;
	struct journal_lock *lock = &j->head->lock;
	char *again;

	atomic_store(&w->page, NULL);
	if (j->kind != JK_FILE)
		return;
	again = mmap(NULL, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (again == MAP_FAILED)
		return;
	/*
	 * Another thread may fork at any moment: its child must know the address before the file
	 * is mapped at it.
	 */
	atomic_store(&w->page, again);
	/*
	 * mremap() of a shared mapping from 0 bytes maps the same page a second time. It is a
	 * direct system call: the mremap() of some communication libraries loses the address, and
	 * the kernel then maps at 0.
	 */
	if (syscall(SYS_mremap, (char *)j->head + page, 0, PAGE_BYTES,
		    MREMAP_MAYMOVE | MREMAP_FIXED, again) < 0) {
		/*
		 * The mapping failed, and the address may belong to another mapping by now, so it
		 * is not unmapped.
		 */
		atomic_store(&w->page, NULL);
		return;
	}
	lock->next = (uint64_t)(uintptr_t)&w->list.list;
	lock->word = read_tid();
	w->list.list.next = (struct robust_list *)(void *)(again + (at - page));
	w->list.futex_offset =
		(long)(offsetof(struct journal_lock, word) - offsetof(struct journal_lock, next));
	/* Replaces the C library's own list, which is empty: this thread takes no lock of the program. */
	if (syscall(SYS_set_robust_list, &w->list, sizeof(w->list)) < 0)
		stop_death_watch(w);
}

void stop_death_watch(struct death_watch *w)
{
	void *page = atomic_load(&w->page);

	w->list.list.next = &w->list.list;
	if (!page)
		return;
	/*
	 * The file is unmapped first, and then the address is freed: a child that drops the page
	 * never unmaps another thread's new memory.
	 */
	mmap(page, PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	atomic_store(&w->page, NULL);
	munmap(page, PAGE_BYTES);
}

void free_death_watch(struct death_watch *w)
{
	void *page = atomic_exchange(&w->page, NULL);

	if (page)
		munmap(page, PAGE_BYTES);
}

uint64_t find_moment_of_death(const struct journal_head *h, int fd, const struct stat *st)
{
	uint64_t at = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
	struct statfs fs;

	if (!(h->lock.word & FUTEX_OWNER_DIED) || fstatfs(fd, &fs) < 0 ||
		fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		return 0;
	/*
	 * The process was still running at clock_last, so an earlier time is not that of its end.
	 */
	return at + TICK_NS >= h->clock_last.real_ns ? at : 0;
}
