/* SPDX-License-Identifier: Apache-2.0 */
#include "config/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

int reader_open(
	struct reader *r, const char *text, size_t len, struct report *report, const char *lost)
{
	memset(r, 0, sizeof(*r));
	r->report = report;
	r->lost = lost;
	r->text = (const unsigned char *)text;
	r->len = len;
	if (!yaml_parser_initialize(&r->parser)) {
		r->error = -ENOMEM;
		return r->error;
	}
	yaml_parser_set_input_string(&r->parser, r->text, len);
	for (size_t i = 0, percent = 0; i < len; i++) {
		percent += text[i] == '%';
		if (percent > READER_PERCENT_MAX) {
			report_emit_at(report, 0, 0, "has more than %d signs %%%s%s",
				READER_PERCENT_MAX, lost ? "; " : "", lost ? lost : "");
			return r->error = -E2BIG;
		}
	}
	return 0;
}

void reader_close(struct reader *r)
{
	if (r->have_event)
		yaml_event_delete(&r->event);
	r->have_event = false;
	/* also correct for a parser that failed to start: it is all zero */
	yaml_parser_delete(&r->parser);
}

/*
 * Reports libyaml's error with its position; if the bytes are not text, libyaml knows only the
 * offset.
 */
static int emit_syntax_error(struct reader *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t line = p->problem_mark.line + 1, col = p->problem_mark.column + 1;
	const char *problem = p->problem ? p->problem : "cannot be parsed";
	char since[48] = "";

	if (p->error == YAML_MEMORY_ERROR || p->error == YAML_NO_ERROR)
		return r->error = -ENOMEM;
	if (p->error == YAML_READER_ERROR) {
		size_t at = p->problem_offset < r->len ? p->problem_offset : r->len;

		line = col = 1;
		for (size_t i = 0; i < at; i++) {
			col = r->text[i] == '\n' ? 1 : col + 1;
			line += r->text[i] == '\n';
		}
	}

	/* A common mistake in a list of patterns (an unquoted *); libyaml's own message does not help. */
	bool star = p->context && strstr(p->context, "alias");

	/* A bracket without its partner is often some lines above. */
	if (p->context && p->context_mark.line < p->problem_mark.line)
		snprintf(
			since, sizeof(since), " that begins in line %zu", p->context_mark.line + 1);
	r->report->held = false;
	r->report->can_parse = NULL;
	report_emit_at(r->report, line, col, "%s%s%s%s%s%s%s%s", r->lost ? "no valid YAML: " : "",
		problem, p->context ? ", " : "", p->context ? p->context : "", since,
		star ? " (quotes are needed around what begins with *)" : "", r->lost ? "; " : "",
		r->lost ? r->lost : "");
	return r->error = -EINVAL;
}

int reader_read_event(struct reader *r)
{
	if (r->error)
		return r->error;
	if (r->have_event)
		yaml_event_delete(&r->event);
	r->have_event = false;
	if (!yaml_parser_parse(&r->parser, &r->event))
		return emit_syntax_error(r);
	r->have_event = true;
	switch (r->event.type) {
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		if (++r->depth > READER_DEPTH_MAX) {
			reader_report(r, "nested more than %d deep%s%s", READER_DEPTH_MAX,
				r->lost ? "; " : "", r->lost ? r->lost : "");
			return r->error = -E2BIG;
		}
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		r->depth--;
		break;
	case YAML_NO_EVENT: /* after the end of the stream */
		return r->error = -EINVAL;
	default:
		break;
	}
	return (int)r->event.type;
}

bool reader_can_parse(const void *of)
{
	const struct reader *whole = of;
	struct report silent = {.file = ""};
	struct reader r;
	int ev = reader_open(&r, (const char *)whole->text, whole->len, &silent, NULL);

	while (ev >= 0 && ev != YAML_STREAM_END_EVENT)
		ev = reader_read_event(&r);
	reader_close(&r);
	return ev != -EINVAL;
}

int reader_open_mapping(struct reader *r)
{
	int ev = reader_read_event(r);

	if (ev == YAML_STREAM_START_EVENT)
		ev = reader_read_event(r);
	if (ev == YAML_STREAM_END_EVENT)
		return memchr(r->text, '#', r->len) ? 0 : -ENODATA;
	if (ev == YAML_DOCUMENT_START_EVENT)
		ev = reader_read_event(r);
	if (ev < 0)
		return ev;
	if (ev != YAML_MAPPING_START_EVENT)
		return -ENOTSUP;
	return 1;
}

int reader_close_mapping(struct reader *r)
{
	int ev = reader_read_event(r);

	if (ev == YAML_DOCUMENT_END_EVENT)
		ev = reader_read_event(r);
	if (ev == YAML_DOCUMENT_START_EVENT)
		reader_report(r, "a second YAML document begins; it is ignored");
	return ev < 0 ? ev : 0;
}

int reader_read_rest(struct reader *r)
{
	unsigned depth = r->depth;
	int ev = (int)r->event.type;

	if (ev != YAML_SEQUENCE_START_EVENT && ev != YAML_MAPPING_START_EVENT)
		return 0;
	do
		ev = reader_read_event(r);
	while (ev > 0 && r->depth >= depth);
	return ev < 0 ? ev : 0;
}

const char *reader_get_shape(const struct reader *r)
{
	switch (r->event.type) {
	case YAML_SEQUENCE_START_EVENT:
		return "a list";
	case YAML_MAPPING_START_EVENT:
		return "a group of keys";
	case YAML_ALIAS_EVENT:
		return "an alias (*name), which is not supported";
	default:
		return "a single value";
	}
}

bool reader_is_null(const struct reader *r)
{
	static const char *const null[] = {"", "~", "null", "Null", "NULL"};

	if (r->event.type != YAML_SCALAR_EVENT ||
		r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return false;
	for (size_t i = 0; i < sizeof(null) / sizeof(null[0]); i++)
		if (strcmp((const char *)r->event.data.scalar.value, null[i]) == 0)
			return true;
	return false;
}

int reader_read_file(const char *path, char **text, size_t *len)
{
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0);
	size_t have = 0;
	ssize_t n = 0;
	int err = 0;

	if (fd < 0)
		return fd;

	char *buf = malloc(READER_BYTES_MAX + 1);

	if (!buf) {
		close(fd);
		return -ENOMEM;
	}
	while (have <= READER_BYTES_MAX) {
		n = read(fd, buf + have, READER_BYTES_MAX + 1 - have);
		if (n > 0)
			have += (size_t)n;
		else if (n == 0 || errno != EINTR)
			break;
	}
	if (n < 0)
		err = -errno;
	else if (have > READER_BYTES_MAX)
		err = -EFBIG;
	close(fd);
	if (err) {
		free(buf);
		return err;
	}
	*text = buf;
	*len = have;
	return 0;
}

/* Missing in musl (entry/libc_gaps.c). */
extern const char *strerrordesc_np(int err) __attribute__((weak));

const char *reader_get_error_text(int err)
{
	const char *text = strerrordesc_np ? strerrordesc_np(-err) : NULL;

	if (err == -EFBIG)
		return "larger than 1 MiB";
	if (err == -ENOMEM)
		return "out of memory";
	if (err == -IO_ENOTREG)
		return "not a regular file";
	return text ? text : "unknown error";
}
