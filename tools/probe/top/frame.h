/* SPDX-License-Identifier: Apache-2.0 */
/* One look at a job as a page of text. */
#ifndef PROBE_TOOLS_FRAME_H
#define PROBE_TOOLS_FRAME_H

#include "tools/probe/live/live.h"

/* lines: that the page may have, 0: as many as there are. */
void frame_print(const struct live *l, unsigned lines);

#endif
