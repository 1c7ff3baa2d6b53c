/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not all ranks of a large job are read again when something went wrong (window.h), and the one that did something else is to be
 * among them: those that differ, that stand elsewhere or are missing, and the other sides of their messages.
 */
#ifndef PROBE_TOOLS_REPORT_SUSPECTS_H
#define PROBE_TOOLS_REPORT_SUSPECTS_H

#include "tools/probe/rules/report.h"
#include "tools/probe/rules/sequence/window.h"

/* stuck: where ranks stand; NULL: nowhere. order: a step that one rank made in another order; NULL: there is none. */
struct suspects list_suspects(
	const struct report *r, const struct stuck *stuck, const struct order_seen *order);

#endif
