/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_LIFE_FORK_H
#define PROBE_LIFE_FORK_H

/* For pthread_atfork(). */
void child_after_fork(void);

#endif
