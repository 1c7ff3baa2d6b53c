/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Something new in a rank's calls that is no fault of that rank: others take the same part in it, or it only shows in which order messages
 * arrived.
 */
#ifndef PROBE_TOOLS_EXCUSED_H
#define PROBE_TOOLS_EXCUSED_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

/* v: what call i of that rank would be reported as. */
bool is_excused(
	const struct window *w, const struct rank_window *r, unsigned i, const struct verdict *v);

bool is_receive(const struct call *c);

#endif
