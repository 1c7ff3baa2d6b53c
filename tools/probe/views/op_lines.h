/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the table of operations, for the text and the page of `probe report`. */
#ifndef PROBE_TOOLS_VIEWS_OP_LINES_H
#define PROBE_TOOLS_VIEWS_OP_LINES_H

#include "tools/probe/rules/report.h"

/*
 * Communicators of one kind and size (all the tensor-parallel groups of a job) share a line: a thousand ranks must not make a thousand
 * lines.
 */
struct op_line {
	struct table_key key; /* a: kind of communicator, b: names */
	struct op_stat sum;
	unsigned ncomm;
};

struct op_lines {
	struct op_line **line; /* the one with the most time first */
	uint32_t n;
	struct table table;
};

void init_op_lines(struct op_lines *l, const struct report *r);
void free_op_lines(struct op_lines *l);

/* The communicator of a line, or how many of which kind share it; malloc'd. */
char *format_op_line_comm(const struct report *r, const struct op_line *l);

#endif
