/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moment at which a process was ended, of one that could not say it any more. No handler and no clock has it, but the kernel
 * walks the list of robust locks of each thread that ends, however it ends, and marks those that it held: a lock of the writer's
 * lies in the journal's head, in a page that is mapped once more and that only the kernel writes to there. Its mark is the last
 * write to the file, and the file's time of change is that of the end. It costs nothing before.
 *
 * Not so where a mapped page has no such time (tmpfs, shared memory), and without a writer thread: then nothing is known.
 */
#ifndef PROBE_JOURNAL_DEATH_H
#define PROBE_JOURNAL_DEATH_H

#include <linux/futex.h>
#include <stdatomic.h>

#include "journal/journal.h"

struct stat;

struct death_watch {
	struct robust_list_head list;
	/* From before anything of the journal is mapped there until after it; NULL: there is none. */
	_Atomic(void *) page;
};

/*
 * Both by the thread that lives as long as the recording does, and with memory that stays when the thread is gone: the kernel reads
 * it then.
 */
void start_death_watch(struct death_watch *w, struct journal *j);
void end_death_watch(struct death_watch *w);

/*
 * In a forked child, whatever the parent's thread was in the middle of: the page is given up, for with it the child would hold the
 * lock of the journal's file.
 */
void drop_death_watch(struct death_watch *w);

/* Of the journal in that file, Unix epoch; 0: not known. */
uint64_t find_moment_of_death(const struct journal_head *h, int fd, const struct stat *st);

#endif
