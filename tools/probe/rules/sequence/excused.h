/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are new for a rank but not its fault: other ranks also make them, or only the order in
 * which messages arrived has changed.
 */
#ifndef PROBE_TOOLS_EXCUSED_H
#define PROBE_TOOLS_EXCUSED_H

#include "tools/probe/rules/sequence/explain.h"
#include "tools/probe/rules/sequence/window.h"

/*
 * Returns true if call i of rank r is excused. v: the verdict that would be reported for it. k: the earlier call like
 * its predecessor, after which the usual call came.
 */
bool is_excused(const struct window *w, const struct rank_window *r, unsigned i, int k,
	const struct verdict *v);

bool is_receive(const struct call *c);

#endif
