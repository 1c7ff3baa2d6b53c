/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CALL_BUFFER_CHECK_H
#define PROBE_CALL_BUFFER_CHECK_H

#include "call/view.h"

/* Takes the statistics from buffers that do not seem to be where the spec says. */
void check_buffers(struct buffer *v, unsigned n);

#endif
