/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar on stderr. It appears only on a terminal, and only if reading takes longer than a
 * second.
 */
#ifndef PROBE_TOOLS_LIB_PROGRESS_H
#define PROBE_TOOLS_LIB_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on, shown;
	uint64_t total, begun, latest; /* total: bytes; begun, latest: ns */
};

void progress_start(struct progress *p, bool enabled, uint64_t total);
/* Returns true when progress_print() should be called. */
bool progress_is_due(struct progress *p);
void progress_print(struct progress *p, uint64_t done);
/* Removes the bar. */
void progress_stop(struct progress *p);

#endif
