/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moment at which a process was killed without a chance to record it. No handler and no clock knows it. But the
 * kernel walks the list of robust locks of each thread that ends, for whatever reason, and marks the locks that it
 * held. The writer holds such a lock in the journal's head, through a second mapping of that page that only the kernel
 * writes to. That mark is the last write to the file, so the file's time of change is the time of the end. This costs
 * nothing at run time.
 *
 * It does not work where mapped pages have no such time (tmpfs, shared memory), or without a writer thread: then the
 * moment is not known.
 */
#ifndef PROBE_JOURNAL_DEATH_H
#define PROBE_JOURNAL_DEATH_H

#include <linux/futex.h>
#include <stdatomic.h>

#include "journal/journal.h"

struct stat;

struct death_watch {
	struct robust_list_head list;
	/* Set from before the journal is mapped there until after it is unmapped; NULL: no mapping. */
	_Atomic(void *) page;
};

/*
 * Call both on the thread that lives as long as the recording. The memory must outlive the thread, because the kernel
 * reads it then.
 */
void start_death_watch(struct death_watch *w, struct journal *j);
void end_death_watch(struct death_watch *w);

/*
 * In a forked child, whatever the parent's thread was doing: releases the page, which would otherwise hold the lock of
 * the journal's file.
 */
void drop_death_watch(struct death_watch *w);

/* The time of death for the journal in that file, Unix epoch; 0: not known. */
uint64_t find_moment_of_death(const struct journal_head *h, int fd, const struct stat *st);

#endif
