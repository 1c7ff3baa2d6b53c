/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This rank's position in the groups of a training, from the traffic of their communicators:
 * gradients of parameters, reductions in forward and backward passes, messages. For keys
 * dp_ranks, tp_ranks and pp_ranks, if no list of ranks is given. An adapter of a framework
 * reports its calls; without one of these keys nothing is done.
 */
#ifndef PROBE_TRAIN_PLACE_H
#define PROBE_TRAIN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

enum train_axis { AXIS_DATA, AXIS_TENSOR, AXIS_PIPELINE };

enum train_carries { CARRIES_GRADIENTS, CARRIES_REDUCTION, CARRIES_MESSAGE, CARRIES_OTHER };

/* True if one of keys dp_ranks, tp_ranks, pp_ranks is set. */
bool train_places_wanted(void);

/*
 * Notes a call on communicator `comm`, in which this rank is number `place` of `size`. elements:
 * number of gradient elements. Any thread.
 */
void train_record_group_use(enum train_carries carried, uint64_t comm, int32_t place, int32_t size,
	uint64_t elements, uint32_t phase);

/* Returns this rank's number in its group along `axis`; -1: not known (yet). Any thread. */
int32_t train_get_place(enum train_axis axis);

/* True if there are communicators, all of them contain all ranks, and all carry only data. */
bool train_is_one_group(void);

/* Call in a forked child, which belongs to other groups. */
void train_places_forked(void);

#endif
