/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a job as a page of text. */
#ifndef PROBE_TOOLS_FRAME_H
#define PROBE_TOOLS_FRAME_H

#include "tools/probe/live/live.h"

/* lines: the most lines of the page, 0: no limit. */
void frame_print(const struct live *l, unsigned lines);

#endif
