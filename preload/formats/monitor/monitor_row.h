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

/* Maximum size of any header, and of a row without its texts; each byte of a text may take two. */
#define MONITOR_HEADER_MAX 256
#define MONITOR_ROW_MAX 1024

/* Writes the header line. ops: columns, see get_train_op(); micro: with column micro_step. */
void monitor_write_header(
	struct text *t, uint32_t ops, bool micro, const struct monitor_style *style);

/* The fields before the statistics. scope: only in v2, "" in v1. */
struct monitor_row {
	uint32_t vpp_stage, step, micro_step; /* UINT32_MAX: no such column */
	const char *name, *scope;
};
void monitor_start_row(
	struct text *t, const struct monitor_row *r, const struct monitor_style *style);

/*
 * Writes the statistics. NaN, and every value of a tensor that contains NaN, is written as nan,
 * as in msprobe.
 */
void monitor_write_statistics(struct text *t, uint32_t ops, const struct stats *s, uint64_t count,
	uint8_t dtype, const struct monitor_style *style);

/* Writes shape, dtype, and the end of the line. ndim 255: shape not known. */
void monitor_close_row(struct text *t, const uint64_t *dim, unsigned ndim, const char *prefix,
	const char *dtype, const struct monitor_style *style);

#endif
