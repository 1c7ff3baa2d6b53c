/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_LIFE_FORK_H
#define PROBE_LIFE_FORK_H

/*
 * In a forked child, recorded or not, before fork() returns there: locks that wrappers take whether or not anything is
 * recorded are made again, those of adapters too. The thread that held one may not exist here.
 */
void call_forked(void);

/* For pthread_atfork(). */
void child_after_fork(void);

#endif
