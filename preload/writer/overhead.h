/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps key max_overhead: measures what recording costs, window by window, and sets the level of session/thinning.h.
 */
#ifndef PROBE_WRITER_OVERHEAD_H
#define PROBE_WRITER_OVERHEAD_H

/*
 * Ends the window if it is over, and begins the next one. Each change of level is noted in the journal's head. Caller
 * has the role.
 */
void keep_overhead_limit(void);

/* For a forked child that records: nothing has been measured. */
void forget_overhead(void);

#endif
