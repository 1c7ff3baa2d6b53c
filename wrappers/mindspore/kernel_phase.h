/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps and phases of a training, from the graphs that run. An optimizer of MindSpore is a graph also where everything else
 * is not, and adds one to its global step (AssignAdd) each time: a graph's run with that in it is an optimizer step.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_PHASE_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/mindspore/kernel.h"

/* A graph begins to run on this thread, or has run. What the first returns the second is given. */
uint32_t ms_graph_begins(void);
void ms_graph_ends(uint32_t before);

/* A kernel that counts steps is about to run in some graph; in: the number, and what is added to it. */
void ms_update_seen(const struct kernel_tensors *in);

/* enum phase of a kernel that is being described; 0: not known. */
uint8_t ms_kernel_phase(const struct call *c);

void ms_steps_forked(void);

#endif
