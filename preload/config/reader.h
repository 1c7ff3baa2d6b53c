/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML files as a stream of events, with everything bounded that a file could blow up: bytes, depth, documents,
 * messages. JSON is read as well, being YAML.
 *
 *	reader_open(&r, text, len, &report, "the defaults hold");
 *	while (reader_next(&r) > 0) ... r.event ...
 *	reader_close(&r);
 */
#ifndef PROBE_CONFIG_READER_H
#define PROBE_CONFIG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

#include "config/config_report.h"

#define READER_BYTES_MAX ((size_t)1 << 20)
#define READER_DEPTH_MAX 32
#define READER_PERCENT_MAX 4096 /* signs %: libyaml takes time in the square of the %TAG lines */

struct reader {
	yaml_parser_t parser;
	yaml_event_t event; /* the current one; its texts live until reader_next or reader_close */
	bool have_event;
	int error; /* 0 or -errno, sticky: once an error, always the error */
	unsigned depth;
	struct report *report;
	const char *
		lost; /* what is lost when the file cannot be parsed, for the message; NULL: the caller says it */
	const unsigned char *text;
	size_t len;
};

/*
 * Returns 0, -ENOMEM, or -E2BIG (reported). `text`, `report` and `lost` must outlive the reader. Pair with reader_close
 * in any case.
 */
int reader_open(
	struct reader *r, const char *text, size_t len, struct report *report, const char *lost);
void reader_close(struct reader *r);

/*
 * Goes to the next event. Returns its type (> 0: yaml_event_type_t), or -EINVAL for a syntax error, -E2BIG for
 * nesting beyond READER_DEPTH_MAX, -ENOMEM. The first two are reported here.
 */
int reader_next(struct reader *r);

/*
 * Goes to the first event inside the document's top mapping. Returns 1; 0 if there is no document (comments only);
 * -ENODATA if there is not even a comment, -ENOTSUP if the top is no mapping, or as reader_next.
 */
int reader_enter_mapping(struct reader *r);

/* Behind the end of the top mapping: reports a further document, which is not read. */
int reader_leave_mapping(struct reader *r);

/* Passes over the node that the current event begins, to its last event. Returns 0 or as reader_next. */
int reader_skip(struct reader *r);

/* A finding at the beginning of the current event. */
#define reader_report(r, ...)                                                                    \
	report_at((r)->report, (r)->event.start_mark.line + 1, (r)->event.start_mark.column + 1, \
		__VA_ARGS__)

/* The current event as a word for messages: "a list". */
const char *reader_shape(const struct reader *r);

/* True if the current event is a scalar without value: nothing, ~ or null, not quoted. */
bool reader_is_null(const struct reader *r);

/*
 * Reads a whole file of at most READER_BYTES_MAX bytes. Returns 0 and a malloc'd text, or -errno (-EFBIG: larger).
 * Never waits: a FIFO without data is an error.
 */
int reader_slurp(const char *path, char **text, size_t *len);

/* What an error of reader_slurp means, in English whatever the job's locale. */
const char *reader_why(int err);

#endif
