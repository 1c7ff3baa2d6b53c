/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libprobe's own time until the end of the first steps: work done once at the start is not part
 * of each step's cost.
 */
#ifndef PROBE_WRITER_OWN_START_H
#define PROBE_WRITER_OWN_START_H

/*
 * Writes this time to meta.json (`own_start`) on the first call after two steps; later calls do
 * nothing. Caller has the role.
 */
void note_own_start(void);

#endif
