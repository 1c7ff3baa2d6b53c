/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which place this rank has in the groups into which a training is divided, by what their communicators carry: gradients
 * of parameters, reductions in forward and backward passes, messages. For keys dp_ranks, tp_ranks and pp_ranks, where no list
 * of ranks says it. An adapter of a framework tells of its calls; nothing of this is done without one of these keys.
 */
#ifndef PROBE_TRAIN_PLACE_H
#define PROBE_TRAIN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum train_axis { AXIS_DATA, AXIS_TENSOR, AXIS_PIPELINE };

enum train_carries { CARRIES_GRADIENTS, CARRIES_REDUCTION, CARRIES_MESSAGE, CARRIES_OTHER };

/* Is any of it asked for? */
bool train_places_wanted(void);

/* A call on the communicator `comm`, in which this rank is `place` of `size`. elements: of gradients. Any thread. */
void train_group_carries(enum train_carries what, uint64_t comm, int32_t place, int32_t size,
	uint64_t elements, uint32_t phase);

/* -1: not known (yet). Any thread. */
int32_t train_place_in(enum train_axis axis);

/* Are there communicators, all of them of all ranks, and none of them for anything but data? */
bool train_is_one_group(void);

/* In a forked child: its groups are others. */
void train_groups_forget(void);

#endif
