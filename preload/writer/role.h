/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's role: its holder may use folder, files and drain (output.h). The writer thread
 * takes it for one pass at a time. A thread of the job that is in a call never waits for it: it
 * takes the role if it is free, or continues without.
 */
#ifndef PROBE_WRITER_ROLE_H
#define PROBE_WRITER_ROLE_H

#include <stdbool.h>

bool role_take_now(void);

/* Waits for the role, at most `ms` milliseconds. Returns true if the caller has it now. */
bool role_take_within(long ms);

/* Releases the role and wakes the waiting threads. */
void role_release(void);

/* Returns the id of the thread that has the role; 0: none. */
int role_holder(void);

/* Frees the role. Call in a forked child: the thread that had it may not exist there. */
void role_reset(void);

#endif
