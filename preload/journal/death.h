/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time at which a process was killed without a chance to record it. No handler runs then. But
 * the kernel walks the list of robust locks of each thread that ends, for whatever reason, and
 * marks the locks that the thread held. The writer holds such a lock in the journal's head,
 * through a second mapping of this page that only the kernel writes to. The mark is the last
 * write to the file, so the file's modification time is the time of the end. This costs nothing
 * at run time.
 *
 * It does not work if mapped pages do not update that time (tmpfs, shared memory), or without a
 * writer thread: then the time is not known.
 */
#ifndef PROBE_JOURNAL_DEATH_H
#define PROBE_JOURNAL_DEATH_H

#include <linux/futex.h>
#include <stdatomic.h>

#include "journal/journal.h"

struct stat;

struct death_watch {
	struct robust_list_head list;
	/*
	 * The second mapping; NULL: none. Set before the page is mapped, reset after it is
	 * unmapped.
	 */
	_Atomic(void *) page;
};

/*
 * Both must be called on the thread that lives as long as the recording. *w must outlive this
 * thread, because the kernel reads it when the thread ends.
 */
void start_death_watch(struct death_watch *w, struct journal *j);
void stop_death_watch(struct death_watch *w);

/*
 * For a forked child, whatever the parent's thread was doing: releases the page, which would
 * otherwise keep the lock of the journal's file.
 */
void free_death_watch(struct death_watch *w);

/* Returns the time of death for the journal in file fd, ns, Unix epoch; 0: not known. */
uint64_t find_moment_of_death(const struct journal_head *h, int fd, const struct stat *st);

#endif
