/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a large job only some ranks are read again when something went wrong (window.h), and the culprit must be among them: ranks that
 * differ, that are blocked elsewhere or are missing, and the other ends of their messages.
 */
#ifndef PROBE_TOOLS_REPORT_SUSPECTS_H
#define PROBE_TOOLS_REPORT_SUSPECTS_H

#include "tools/probe/rules/report.h"
#include "tools/probe/rules/sequence/window.h"

/* stuck: where ranks are blocked; NULL: nowhere. order: a step that one rank made in another order; NULL: there is none. */
struct suspects list_suspects(
	const struct report *r, const struct stuck *stuck, const struct order_seen *order);

#endif
