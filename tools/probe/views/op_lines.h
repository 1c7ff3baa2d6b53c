/* SPDX-License-Identifier: Apache-2.0 */
/* The lines of the table of operations, for the text and the HTML page of `probe report`. */
#ifndef PROBE_TOOLS_VIEWS_OP_LINES_H
#define PROBE_TOOLS_VIEWS_OP_LINES_H

#include "tools/probe/rules/report.h"

/*
 * One line stands for all communicators of one kind and size, such as the tensor-parallel groups of
 * a job. Otherwise a thousand ranks would make a thousand lines.
 */
struct op_line {
	struct table_key key; /* a: kind and size of the communicators; b: names */
	struct op_stat sum;
	unsigned ncomm;
};

struct op_lines {
	struct op_line **line; /* the line with the most time first */
	uint32_t n;
	struct table table;
};

void init_op_lines(struct op_lines *l, const struct report *r);
void free_op_lines(struct op_lines *l);

/*
 * Returns the label of the line's communicator, or, if several share the line, their number and
 * kind. malloc'd.
 */
char *format_op_line_comm(const struct report *r, const struct op_line *l);

#endif
