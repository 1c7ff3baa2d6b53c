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

/*
 * Returns true if other ranks made the usual collective, and this rank went on to several calls from i and
 * never came to it: it skipped the collective, whatever it did after it. k: as for is_excused().
 */
bool is_left_to_others(const struct window *w, const struct rank_window *r, unsigned i, int k);

bool is_receive(const struct call *c);

#endif
