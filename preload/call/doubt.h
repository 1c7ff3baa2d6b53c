/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CALL_DOUBT_H
#define PROBE_CALL_DOUBT_H

#include "call/view.h"

/* Takes the statistics from buffers that do not seem to be where the spec says. */
void doubt(struct view *v, unsigned n);

#endif
