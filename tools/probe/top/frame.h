/* SPDX-License-Identifier: Apache-2.0 */
/* One screen of `probe top`. */
#ifndef PROBE_TOOLS_FRAME_H
#define PROBE_TOOLS_FRAME_H

#include "tools/probe/live/live.h"

/* The order of ranks; the word is shown. */
enum frame_order {
	ORDER_TROUBLE, /* by number; if not all fit, those with trouble first */
	ORDER_RANK,
	ORDER_STEP, /* the slowest rank first */
	ORDER_TIME,
	ORDER_LATE,
	ORDER_NONFINITE,
	FRAME_ORDERS
};

/* Settings that the user changes by keys. */
struct frame_view {
	enum frame_order order;
	bool keys; /* the line of keys is shown */
	bool selects; /* a rank is selected */
	int rank; /* which */
	bool stack; /* the stack of the selected rank is shown */
};

/* lines: of the terminal; 0: everything is printed. */
void frame_print(const struct live *l, unsigned lines, const struct frame_view *view);

/* The rank shown `by` lines after the selected one (by < 0: before it); the first one if none is selected. */
int find_frame_neighbour(const struct live *l, const struct frame_view *view, int by);

#endif
