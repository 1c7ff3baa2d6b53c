/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each different call stack gets a small number; the addresses go into the journal once.
 */
#ifndef PROBE_CALL_STACKID_H
#define PROBE_CALL_STACKID_H

#include <stdint.h>

struct api;
struct thread;

/*
 * The number of the calling thread's stack seen from the wrapper with that return address and frame. 0: none (switched
 * off, or the table of STACKS_MAX different stacks is full: counted). t: the calling thread.
 */
uint32_t stack_id(struct thread *t, const struct api *api, uintptr_t pc, uintptr_t frame);

#define STACKS_MAX 49152

/* In a forked child that records anew. */
void stack_id_reset(void);

#endif
