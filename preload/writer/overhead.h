/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps key max_overhead: measures what recording costs, window by window, and sets the level of session/thinning.h.
 */
#ifndef PROBE_WRITER_OVERHEAD_H
#define PROBE_WRITER_OVERHEAD_H

#include <stdint.h>

/*
 * If the current window is over, sets the level from its measurement and begins the next window.
 * Each change of level is noted in the journal's head. Caller has the role. limit: percent of the
 * time, 0: no limit; window_ms: length of a window.
 */
void update_thinning(double limit, int64_t window_ms);

/* For a forked child that records: forgets the parent's measurements. */
void reset_thinning(void);

#endif
