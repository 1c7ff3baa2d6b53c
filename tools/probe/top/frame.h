/* SPDX-License-Identifier: Apache-2.0 */
/* One screen of `probe top`. */
#ifndef PROBE_TOOLS_FRAME_H
#define PROBE_TOOLS_FRAME_H

#include "tools/probe/live/live.h"

/* The order of the ranks. Its name is shown. */
enum frame_order {
	ORDER_TROUBLE, /* by rank; if not all ranks fit, those with trouble first */
	ORDER_RANK,
	ORDER_STEP, /* the rank with the lowest step first */
	ORDER_TIME,
	ORDER_LATE,
	ORDER_NONFINITE,
	FRAME_ORDERS
};

/* Settings that the user changes by keys. */
struct frame_view {
	enum frame_order order;
	bool keys; /* show the line of keys */
	bool selects; /* a rank is selected */
	int rank; /* the selected rank */
	bool stack; /* show the stack of the selected rank */
};

/* Prints the screen. lines: height of the terminal; 0: print everything. */
void frame_print(const struct live *l, unsigned lines, const struct frame_view *view);

/*
 * Returns the rank that is shown `distance` lines after the selected one (before it if distance < 0). If no
 * rank is selected: the first rank shown.
 */
int find_frame_neighbour(const struct live *l, const struct frame_view *view, int distance);

#endif
