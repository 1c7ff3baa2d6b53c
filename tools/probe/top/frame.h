/* SPDX-License-Identifier: Apache-2.0 */
/* What `probe top` shows at a time. */
#ifndef PROBE_TOOLS_FRAME_H
#define PROBE_TOOLS_FRAME_H

#include "tools/probe/live/live.h"

/* The order of ranks; the word is shown. */
enum frame_order {
	ORDER_TROUBLE, /* by number; if there is no room for all, those with trouble first */
	ORDER_RANK,
	ORDER_STEP, /* the one that is least far first */
	ORDER_TIME,
	ORDER_LATE,
	ORDER_NONFINITE,
	FRAME_ORDERS
};

/* What a person chose by keys. */
struct frame_view {
	enum frame_order order;
	bool keys; /* the line of keys is shown */
	bool selects; /* a rank is selected */
	int rank; /* which */
	bool stack; /* the stack of the selected rank is shown */
};

/* lines: of the terminal; 0: everything is printed. */
void frame_print(const struct live *l, unsigned lines, const struct frame_view *view);

/* The rank that is shown `by` lines after the selected one (before: < 0); the first one if none is selected. */
int find_frame_neighbour(const struct live *l, const struct frame_view *view, int by);

#endif
