/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_LIFE_FORK_H
#define PROBE_LIFE_FORK_H

/*
 * Call in a forked child, recorded or not, before fork() returns there: initialises locks that wrappers take whether or
 * not anything is recorded, including those of adapters. The thread that held one may not exist here.
 */
void call_forked(void);

/* For pthread_atfork(). */
void child_after_fork(void);

#endif
