/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of the loader's list of objects, in a forked child. */
#ifndef PROBE_ELF_LOADER_LOCK_H
#define PROBE_ELF_LOADER_LOCK_H

/*
 * Call once, as early as possible. From then on a child made by fork() can load libraries and
 * call dl_iterate_phdr(), even if another thread of its parent was inside dl_iterate_phdr() at
 * the fork.
 */
void loader_lock_follow_forks(void);

#endif
