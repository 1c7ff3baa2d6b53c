/* SPDX-License-Identifier: Apache-2.0 */
/* `probe config --explain`: describes a configuration in sentences. */
#ifndef PROBE_TOOLS_EXPLAIN_H
#define PROBE_TOOLS_EXPLAIN_H

#include "config/list/wraplist.h"
#include "config/rooms/room.h"

/*
 * Prints the description to stdout. list: the names in support_wrap_ops.yaml; unknown names are
 * reported.
 */
void print_config_explanation(
	const struct config *c, struct wraplist *list, config_report_fn *report, void *arg);

#endif
