/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's role: who has it may use folder, files and drain (output.h). The writer thread takes it for one pass at a
 * time. A thread of the job in a call never waits for it: it takes the role when nobody has it, or goes on without.
 */
#ifndef PROBE_WRITER_ROLE_H
#define PROBE_WRITER_ROLE_H

#include <stdbool.h>

bool role_take_now(void);

/* Waits so long at most. */
bool role_take_within(long ms);

/* Lets go of it, and wakes who waits. */
void role_release(void);

/* The thread that has it, 0: none. */
int role_holder(void);

/* In a forked child: nobody has it, for the thread that had it may not exist here. */
void role_reset(void);

#endif
