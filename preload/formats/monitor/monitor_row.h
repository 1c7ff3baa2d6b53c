/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of format monitor in the form of msprobe's two monitors. */
#ifndef PROBE_SINK_MONITOR_ROW_H
#define PROBE_SINK_MONITOR_ROW_H

#include "text/text.h"
#include "terms/train_kind.h"
#include "sink/format.h"

struct monitor_style {
	int ndigits; /* decimals; -1: nine significant digits */
	bool v2;
};

/* Size of any header, and of any row without its texts, each byte of which may take two. */
#define MONITOR_HEADER_MAX 256
#define MONITOR_ROW_MAX 1024

/* ops: columns of train_op_at(); micro: has a column micro_step. */
void monitor_header(struct text *t, uint32_t ops, bool micro, const struct monitor_style *style);

/* The fields before the statistics. scope: of v2, "" in v1. */
struct monitor_row {
	uint32_t vpp_stage, step, micro_step; /* UINT32_MAX: no such column */
	const char *name, *scope;
};
void monitor_begin_row(
	struct text *t, const struct monitor_row *r, const struct monitor_style *style);

/* The statistics. NaN, and every value of a tensor with a NaN, is written as nan, as in msprobe. */
void monitor_statistics(struct text *t, uint32_t ops, const struct stats *s, uint64_t count,
	uint8_t dtype, const struct monitor_style *style);

/* shape, dtype, and the end of the line. ndim 255: not known. */
void monitor_end_row(struct text *t, const uint64_t *dim, unsigned ndim, const char *prefix,
	const char *dtype, const struct monitor_style *style);

#endif
