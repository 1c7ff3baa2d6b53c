/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dl_iterate_phdr() holds a recursive mutex of the loader (_dl_load_write_lock) during its
 * callback, and fork() does not initialise it again in the child (glibc 2.36, tested; some
 * releases did). The child's first dl_iterate_phdr(), dlopen() or dlclose() then waits for ever
 * for a thread that exists only in the parent. libprobe walks the list at moments when the job
 * does not, and looks up functions in the child when the job would not, so libprobe initialises
 * the lock again. If a walk held it, the list is intact. If dlopen() was writing to the list, the
 * child's list is as it would be without libprobe, but the child does not hang.
 *
 * The mutex has no name. It is the one in ld.so's _rtld_global that this thread owns inside
 * dl_iterate_phdr() and not outside. If none, or several, match, nothing is changed.
 */
#include "elf/loaded/loader_lock.h"

#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/at_start.h"
#include "base/tid.h"
#include "elf/loaded/elfsym.h"

#define HELD_MAX 4

struct held {
	uintptr_t global; /* start of _rtld_global */
	pthread_mutex_t *lock[HELD_MAX];
	int n, tid;
};

static START_DATA pthread_mutex_t
	*list_lock; /* written before a second thread can fork; NULL: unknown */

START_CODE static bool is_lock_of_thread(const pthread_mutex_t *m, int tid)
{
	return m->__data.__lock && m->__data.__owner == tid && m->__data.__count == 1 &&
	       m->__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP;
}

START_CODE static int collect_lock_words(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct held *h = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;

		if (p->p_type != PT_LOAD || h->global < lo || h->global >= hi)
			continue;
		for (uintptr_t at = h->global;
			at + sizeof(pthread_mutex_t) <= hi && h->n < HELD_MAX;
			at += _Alignof(pthread_mutex_t))
			if (is_lock_of_thread((pthread_mutex_t *)at, h->tid))
				h->lock[h->n++] = (pthread_mutex_t *)at;
		return 1;
	}
	return 0;
}

/*
 * Child handlers run in the order of their registration. This one is libprobe's first, so it
 * precedes all that search for symbols.
 */
static void reset_loader_lock(void)
{
	if (list_lock && list_lock->__data.__lock)
		*list_lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

START_CODE void loader_lock_follow_forks(void)
{
	static START_CONST const char name[] = "_rtld_global";
	struct held h = {.global = (uintptr_t)elfsym_find_data(name), .tid = (int)read_tid()};
	pthread_mutex_t *found = NULL;
	int n = 0;

	if (!h.global)
		return;
	dl_iterate_phdr(collect_lock_words, &h);
	for (int i = 0; i < h.n; i++)
		if (!is_lock_of_thread(h.lock[i], h.tid)) {
			found = h.lock[i];
			n++;
		}
	if (n != 1)
		return;
	list_lock = found;
	pthread_atfork(NULL, NULL, reset_loader_lock);
}
