/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML files as a stream of events, with limits on everything that a file could make too large:
 * bytes, depth, documents, messages. JSON is read too, because JSON is YAML.
 *
 *	reader_open(&r, text, len, &report, "the defaults are used");
 *	while (reader_read_event(&r) > 0) ... r.event ...
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
/*
 * number of % characters allowed: libyaml's time grows with the square of the number of %TAG
 * lines
 */
#define READER_PERCENT_MAX 4096

struct reader {
	yaml_parser_t parser;
	/* the current event; its texts are valid until reader_read_event or reader_close */
	yaml_event_t event;
	bool have_event;
	int error; /* 0 or -errno; never reset */
	unsigned depth;
	struct report *report;
	/*
	 * the consequence if the file cannot be parsed, for the message; NULL: the caller reports
	 * it
	 */
	const char *lost;
	const unsigned char *text;
	size_t len;
};

/*
 * Returns 0, -ENOMEM, or -E2BIG (reported). `text`, `report` and `lost` must outlive the reader. Always pair with
 * reader_close.
 */
int reader_open(
	struct reader *r, const char *text, size_t len, struct report *report, const char *lost);
void reader_close(struct reader *r);

/*
 * Reads the next event. Returns its type (> 0: yaml_event_type_t), -EINVAL (syntax error,
 * reported), -E2BIG (nested deeper than READER_DEPTH_MAX, reported), or -ENOMEM.
 */
int reader_read_event(struct reader *r);

/* False if the text of the reader `of` has an error of syntax; it is read by a parser of its own. For can_parse of struct report. */
bool reader_can_parse(const void *of);

/*
 * Reads up to the first event inside the document's top mapping. Returns 1; 0 if there is no
 * document (comments only); -ENODATA if there is not even a comment; -ENOTSUP if the top is not a
 * mapping; or an error of reader_read_event().
 */
int reader_open_mapping(struct reader *r);

/* After the end of the top mapping: reports a second document, which is not read. */
int reader_close_mapping(struct reader *r);

/*
 * Skips the node that the current event begins, up to its last event. Returns 0, or an error of
 * reader_read_event().
 */
int reader_read_rest(struct reader *r);

/* Reports a problem at the beginning of the current event. */
#define reader_report(r, ...)                                       \
	report_emit_at((r)->report, (r)->event.start_mark.line + 1, \
		(r)->event.start_mark.column + 1, __VA_ARGS__)

/* Returns what the current event is, for messages: "a list". */
const char *reader_get_shape(const struct reader *r);

/* True if the current event is a null scalar: empty, ~ or null, not quoted. */
bool reader_is_null(const struct reader *r);

/*
 * Reads a whole file of at most READER_BYTES_MAX bytes. Returns 0 and a malloc'd text, or -errno (-EFBIG: larger).
 * Never blocks: a FIFO without data is an error.
 */
int reader_read_file(const char *path, char **text, size_t *len);

/* Returns the text for an error of reader_read_file(), in English whatever the job's locale. */
const char *reader_get_error_text(int err);

#endif
