/* SPDX-License-Identifier: Apache-2.0 */
/* `probe config --explain`: a configuration in words. */
#ifndef PROBE_TOOLS_EXPLAIN_H
#define PROBE_TOOLS_EXPLAIN_H

#include "config/config.h"

/* list: what support_wrap_ops.yaml names. Prints to stdout. */
void explain(const struct config *c, const struct wraplist *list);

#endif
