/* SPDX-License-Identifier: Apache-2.0 */
/* `probe report --html`: the page of a run, made in a second pass over its rows. */
#ifndef PROBE_TOOLS_PROBE_REPORT_HTML_H
#define PROBE_TOOLS_PROBE_REPORT_HTML_H

#include "tools/lib/target.h"
#include "tools/probe/model/join/walk.h"
#include "tools/probe/views/focus.h"

#define HTML_WINDOWS 8 /* maximum number of findings with a timeline */
#define STACK_PAGE_FRAMES 24 /* maximum number of frames shown of a stack */
#define HTML_SITES 16 /* maximum number of call sites whose statistics are shown */

/* The calls around one finding. */
struct html_window {
	/*
	 * Number of the finding; UINT_MAX: a run without findings, of which the last steps are
	 * shown.
	 */
	unsigned finding;
	struct focus focus;
	uint64_t step_lo, step_hi;
	int *row; /* by folder: line of the timeline; -1: not shown */
	unsigned nrow;
	struct html_call *call; /* a ring buffer until `at_ns` is reached */
	unsigned n, cap, head;
	uint64_t skipped; /* calls that did not fit */
};

struct html_call {
	uint64_t start, dur;
	uint32_t rank, api, op, stack, bits;
	uint64_t comm, step, seq, bytes;
	int64_t comm_seq, peer;
};

/* Statistics of one call site in the steps of one column, over all ranks. */
struct html_point {
	double min, max; /* smallest and largest element */
	double norm_lo, norm_hi, norm_sum, mean_sum;
	uint64_t n, nans, infs;
	bool odd; /* an element or a norm is NaN or Inf */
};

struct html_site {
	struct table_key key; /* a: communicator; b: hash of operation, dtype, count */
	uint32_t api, op, dtype, rank, stack;
	uint64_t count, calls, bytes;
	bool out, wanted;
	struct html_point *point; /* one element per column */
};

struct html_cell {
	float dur, inside; /* ns, summed over the steps of the column */
	uint32_t n;
};

/* Time of one rank in calls of one function with one stack. */
struct html_stack {
	struct table_key key; /* a: rank, b: stack and function */
	uint32_t rank, stack, api;
	double ns; /* time for which the job's threads were blocked, ns */
	uint64_t calls;
};

struct html {
	struct report *r; /* source of the stacks */
	uint64_t step_lo, step_hi, per; /* per: steps in a column */
	unsigned ncol;
	struct html_cell *cell; /* [folder][column] */
	struct html_rank *rank;
	struct table sites, stacks;
	double stacks_skipped; /* ns of the stacks that did not fit into the table */
	struct step_numbers numbers; /* for the steps of a column */
	struct html_window window[HTML_WINDOWS];
	unsigned nwindow;
};

/* Reads all rows of the run. */
void read_html_rows(struct html *h, struct report *r, const struct gather_options *o);
void html_free(struct html *h);

/* Returns 0 or STATUS_USAGE (reported). */
int write_report_html(struct report *r, const struct gather_options *o, const char *path);

#endif
