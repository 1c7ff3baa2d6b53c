/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that may be the culprit. In a large job only some ranks are read again after a fault
 * (window.h), and the culprit must be one of them: ranks that differ, that are blocked elsewhere or
 * missing, and the peers of their messages.
 */
#ifndef PROBE_TOOLS_REPORT_SUSPECTS_H
#define PROBE_TOOLS_REPORT_SUSPECTS_H

#include "tools/probe/rules/report.h"
#include "tools/probe/rules/sequence/window.h"

/*
 * Returns the suspects. stuck: the operation in which ranks are blocked; NULL: none. order: a step
 * that one rank made in another order; NULL: none.
 */
struct suspects list_suspects(
	const struct report *r, const struct stuck *stuck, const struct order_seen *order);

#endif
