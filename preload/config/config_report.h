/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages about a configuration. Each is one line, free of control characters, and there are at
 * most REPORT_LINES for one file, so that a damaged file cannot flood the job's stderr. Needs no
 * memory.
 */
#ifndef PROBE_CONFIG_CONFIG_REPORT_H
#define PROBE_CONFIG_CONFIG_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "config/rooms/room.h"

#define CONFIG_NOTE "note: " /* prefix of messages that are not problems */
#define REPORT_LINES 32
#define REPORT_LINE_MAX 480 /* bytes of a line, so that it fits into 512 with a log prefix */
#define REPORT_FILE_MAX 160 /* only the end of a longer path is shown */
#define REPORT_VALUE_MAX 48 /* only the beginning of a longer value is shown */

struct report {
	config_report_fn *fn; /* NULL: reports are dropped */
	void *arg;
	const char *file;
	unsigned lines;
	/*
	 * If not NULL, asked before the first line: false if the text cannot be parsed to its end. Then only the error of syntax is
	 * reported: values that were read before it may be halves of others, and none of them counts.
	 */
	bool (*can_parse)(const void *text_of);
	const void *text_of;
	bool held;
};

void report_start(struct report *r, config_report_fn *fn, void *arg, const char *file);

/* Reports "FILE:LINE:COL: ..."; line 0: "FILE: ...". */
void report_emit_at(struct report *r, size_t line, size_t col, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Reports how many lines were suppressed, if any. */
void report_stop(struct report *r);

/* Writes a value to `out` for a message, cut and in quotes: "lots". Returns out. */
char *report_format_quoted(char out[REPORT_VALUE_MAX], const char *text, size_t len);

#endif
