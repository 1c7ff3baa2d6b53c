/* SPDX-License-Identifier: Apache-2.0 */
/* What libprobe's own time was when the first steps were over: what is once at the start is no cost of each step. */
#ifndef PROBE_WRITER_OWN_START_H
#define PROBE_WRITER_OWN_START_H

/* With the role. Notes it in meta.json (`own_start`) the first time that it is called after two steps; later calls do nothing. */
void note_own_start(void);

#endif
