/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of its tensors that a call's rows describe: read once per call, because other threads may change it (slice.h). */
#ifndef PROBE_CALL_DATA_SLICING_H
#define PROBE_CALL_DATA_SLICING_H

#include <stdint.h>

struct slice_table;

struct slicing {
	const struct slice_table *table; /* NULL: key slice is empty */
	uint64_t request; /* as stored by slice_set_request(); 0: none */
};

#endif
