/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of a training that may be in a device's memory. What is computed from them (loss, norm,
 * loss scale) is a series of events in a fixed order: an event is handled at once, or queued with
 * its numbers (training/steps/late.h) if one of them is on a device. From the first such number on
 * all events are queued. Any thread; events of all threads that are queued are one series.
 */
#ifndef PROBE_WRAPPERS_TORCH_LATE_SCALAR_H
#define PROBE_WRAPPERS_TORCH_LATE_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "training/steps/late.h"

/* A one-element tensor: its value, or the result that is pending. */
struct scalar_source {
	double value;
	struct late_number late; /* snapshot 0: none is pending, `value` is valid if `known` */
	bool known; /* false also if its measurement was dropped: it is unknown for ever */
};

/*
 * Reads the number of a one-element tensor of real type, in any memory. Returns false for other
 * tensors, and for devices without values (key `device`). A pending result belongs to
 * handle_scalar_event().
 */
bool scalar_read(const void *impl, struct scalar_source *out);

/* True for a tensor that scalar_read() can read. */
bool scalar_is_readable(const void *impl);

/* value: the numbers of the event, NAN and known[i] false if unknown. data: the event's own. */
typedef void scalar_event_fn(const void *data, const double *value, const bool *known);

#define SCALAR_EVENT_MAX 1024 /* bytes of an event's own data */

/* Handles an event with n numbers (at most LATE_NUMBERS), or queues it. */
void handle_scalar_event(scalar_event_fn *fn, const void *data, uint32_t bytes,
	const struct scalar_source *number, unsigned n);

/* Queues all events from now on: for an event whose numbers are queued separately. */
void scalar_set_queueing(void);

#endif
