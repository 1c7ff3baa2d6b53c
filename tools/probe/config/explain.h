/* SPDX-License-Identifier: Apache-2.0 */
/* `probe config --explain`: a configuration in words. */
#ifndef PROBE_TOOLS_EXPLAIN_H
#define PROBE_TOOLS_EXPLAIN_H

#include "config/list/wraplist.h"
#include "config/rooms/room.h"

/* list: the names in support_wrap_ops.yaml; unknown names are reported. Prints to stdout. */
void explain_config(
	const struct config *c, struct wraplist *list, config_report_fn *report, void *arg);

#endif
