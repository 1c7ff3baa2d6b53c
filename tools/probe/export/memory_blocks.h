/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of memory of a rank, from its operator_memory_<a>-<b>.csv (kind operator_memory). */
#ifndef PROBE_TOOLS_PROBE_EXPORT_MEMORY_BLOCKS_H
#define PROBE_TOOLS_PROBE_EXPORT_MEMORY_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/export/export.h"

/* NaN: not known. */
struct memory_event {
	uint64_t address;
	uint64_t at; /* ns of the Unix epoch, by the corrected clock of the rank */
	double call, bytes, allocated, reserved;
	uint32_t device, api; /* interned; api 0: the call was not recorded */
	uint32_t end; /* number of the event that frees the block, plus 1; 0: none */
	bool taken; /* the event frees a block */
};

struct memory_events {
	struct memory_event *event; /* in order of time */
	unsigned n, cap;
};

/*
 * Reads the events of a rank's folder in the selected steps, pairs allocation and release of each block, and finds the call that
 * allocated it. Free with free_memory_events().
 */
void read_memory_events(struct memory_events *out, struct export *e, unsigned folder_index);
void free_memory_events(struct memory_events *m);

#endif
