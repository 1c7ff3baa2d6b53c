/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_CALL_BUFFER_CHECK_H
#define PROBE_CALL_BUFFER_CHECK_H

#include "call/data/view.h"

/*
 * Drops the statistics of buffers whose memory does not seem to be where the spec says
 * (is_buffer_readable_now()).
 */
void check_buffers(struct buffer *v, unsigned n);

/*
 * True if this process can read the first and the last byte of v's elements. Occasionally asks
 * the kernel.
 */
bool is_buffer_readable_now(const struct buffer *v);

#endif
