/* SPDX-License-Identifier: Apache-2.0 */
#include "config/load/ctl_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "config/config.h"
#include "config/config_value.h"
#include "config/reader.h"

#define LOST "nothing of it is used"
#define PREFIX "PROBE_"
#define NAME_MAX_LEN 64
#define VALUE_MAX 4096

struct ctl_reader {
	struct reader r;
	struct report report;
	struct ctl_file *file;
	struct config scratch; /* configuration in which values are tried out */
	unsigned wrong;
	config_report_fn *fn;
	void *arg;
	char value[VALUE_MAX];
};

static void handle_wrong_ctl_line(void *arg, const char *line)
{
	struct ctl_reader *c = arg;

	c->wrong++;
	if (c->fn)
		c->fn(c->arg, line);
}

void ctl_free(struct ctl_file *c)
{
	for (unsigned i = 0; i < c->n; i++)
		free(c->change[i].keys);
	memset(c, 0, sizeof(*c));
}

/* ---- the keys of one change ---- */

static size_t write_variable_name(char *to, const char *key)
{
	size_t n = sizeof(PREFIX) - 1;

	memcpy(to, PREFIX, n);
	for (; *key && n < NAME_MAX_LEN; key++)
		to[n++] = get_upper_case(*key);
	to[n++] = '=';
	return n;
}

static void remove_variable(struct ctl_change *change, const char *name, size_t n)
{
	for (size_t at = 0, size; at < change->len; at += size) {
		size = strlen(change->keys + at) + 1;
		if (strncmp(change->keys + at, name, n) != 0)
			continue;
		memmove(change->keys + at, change->keys + at + size, change->len - at - size);
		change->len -= size;
		return;
	}
}

int ctl_set(struct ctl_change *change, const char *key, const char *value, size_t len)
{
	char name[NAME_MAX_LEN + 1], *more;
	size_t n = write_variable_name(name, key);

	remove_variable(change, name, n);
	if (!len)
		return 0;
	more = realloc(change->keys, change->len + n + len + 1);
	if (!more)
		return -ENOMEM;
	change->keys = more;
	more += change->len;
	memcpy(more, name, n);
	memcpy(more + n, value, len);
	more[n + len] = 0;
	change->len += n + len + 1;
	return 0;
}

char **ctl_get_environment(const struct ctl_change *change, char *const env[])
{
	size_t n = 0, k = 0;
	char **all;

	for (size_t at = 0; change && at < change->len; at += strlen(change->keys + at) + 1)
		n++;
	while (env && env[k])
		k++;
	all = calloc(n + k + 1, sizeof(*all));
	if (!all)
		return NULL;
	n = 0;
	for (size_t at = 0; change && at < change->len; at += strlen(change->keys + at) + 1)
		all[n++] = change->keys + at;
	for (k = 0; env && env[k]; k++)
		all[n++] = env[k];
	return all;
}

const struct ctl_change *ctl_get_change(const struct ctl_file *c, uint64_t step)
{
	const struct ctl_change *found = NULL;

	for (unsigned i = 0; i < c->n; i++)
		if (c->change[i].effective_step <= step)
			found = &c->change[i];
	return found;
}

/* ---- the file ---- */

static bool read_ctl_number(
	struct ctl_reader *c, const char *name, int64_t min, int64_t max, int64_t *to)
{
	const char *text = (const char *)c->r.event.data.scalar.value;
	char *end;
	int64_t v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (*text && !*end && !errno && v >= min && v <= max) {
		*to = v;
		return true;
	}
	reader_report(&c->r, "%s: %.40s; accepted: an integer from %lld to %lld; " LOST, name, text,
		(long long)min, (long long)max);
	return false;
}

/*
 * Reads a list, which the current event begins, as text: [a, b]. Returns its length, or an error
 * of reader_read_event().
 */
static int read_ctl_list(struct ctl_reader *c)
{
	size_t n = 0;
	int ev;

	c->value[n++] = '[';
	while ((ev = reader_read_event(&c->r)) > 0 && ev != YAML_SEQUENCE_END_EVENT) {
		size_t len = c->r.event.data.scalar.length;

		if (ev != YAML_SCALAR_EVENT || n + len + 6 > sizeof(c->value)) {
			reader_report(
				&c->r, "%s in a list, or too much; " LOST, reader_get_shape(&c->r));
			return -EINVAL;
		}
		if (n > 1)
			c->value[n++] = ',';
		memcpy(c->value + n, c->r.event.data.scalar.value, len);
		n += len;
	}
	if (ev < 0)
		return ev;
	c->value[n++] = ']';
	return (int)n;
}

/*
 * Reads the value of key k, which the current event begins, into the change. Returns 0 or an
 * error of reader_read_event().
 */
static int read_ctl_key(struct ctl_reader *c, const struct config_key *k, struct ctl_change *change)
{
	const struct path_base base = {.cwd = "/", .home = "/"};
	char accepted[CONFIG_ACCEPTED_MAX], quoted[REPORT_VALUE_MAX];
	size_t line = c->r.event.start_mark.line + 1, col = c->r.event.start_mark.column + 1;
	const char *wrong = NULL;
	int n;

	if (c->r.event.type == YAML_SEQUENCE_START_EVENT) {
		n = read_ctl_list(c);
		if (n < 0)
			return n;
	} else if (c->r.event.type == YAML_SCALAR_EVENT &&
		   c->r.event.data.scalar.length < sizeof(c->value)) {
		n = (int)c->r.event.data.scalar.length;
		memcpy(c->value, c->r.event.data.scalar.value, (size_t)n);
	} else {
		reader_report(&c->r, "%s: %s; " LOST, k->name, reader_get_shape(&c->r));
		return reader_read_rest(&c->r);
	}
	if (n)
		wrong = config_set(&c->scratch, k, c->value, (size_t)n, &base);
	if (wrong == config_oom)
		return -ENOMEM;
	if (wrong) {
		report_emit_at(&c->report, line, col, "%s: %s: %s; accepted: %s; " LOST, k->name,
			report_format_quoted(quoted, c->value, (size_t)n), wrong,
			config_accepted(k, accepted, sizeof(accepted)));
		return 0;
	}
	return ctl_set(change, k->name, c->value, (size_t)n);
}

static int read_ctl_changes(struct ctl_reader *c);

/* Reads a key that is not a key of the configuration. The current event is its value. */
static int read_ctl_head(
	struct ctl_reader *c, const char *name, struct ctl_change *change, bool top)
{
	int64_t v = 0;

	if (top && strcmp(name, "earlier") == 0 && c->r.event.type == YAML_SEQUENCE_START_EVENT)
		return read_ctl_changes(c);
	if (c->r.event.type != YAML_SCALAR_EVENT) {
		reader_report(&c->r, "%.40s: %s; " LOST, name, reader_get_shape(&c->r));
		return reader_read_rest(&c->r);
	}
	if (strcmp(name, "effective_step") == 0) {
		if (read_ctl_number(c, name, 0, UINT32_MAX - 1, &v))
			change->effective_step = (uint32_t)v;
	} else if (strcmp(name, "now") == 0) {
		change->now = strcmp((const char *)c->r.event.data.scalar.value, "true") == 0;
	} else if (top && strcmp(name, "world_size") == 0) {
		read_ctl_number(c, name, -1, INT32_MAX, &c->file->world_size);
	} else if (top && strcmp(name, "written_ns") == 0) {
		if (read_ctl_number(c, name, 0, INT64_MAX, &v))
			c->file->written_ns = (uint64_t)v;
	} else if (top && strcmp(name, "run") == 0) {
		size_t n = c->r.event.data.scalar.length;

		n = n < sizeof(c->file->run) ? n : sizeof(c->file->run) - 1;
		memcpy(c->file->run, c->r.event.data.scalar.value, n);
		c->file->run[n] = 0;
	} else {
		reader_report(
			&c->r, "%.40s: unknown key; `probe config` lists the keys; " LOST, name);
	}
	return 0;
}

/*
 * Reads a mapping, which the current event has begun, to its end. Returns 0 or an error of
 * reader_read_event().
 */
static int read_ctl_mapping(struct ctl_reader *c, bool top)
{
	struct ctl_change change = {0};
	char name[NAME_MAX_LEN];
	int ev, err = 0;

	while (!err && (ev = reader_read_event(&c->r)) != YAML_MAPPING_END_EVENT) {
		const struct config_key *k = NULL;

		if (ev < 0) {
			err = ev;
			break;
		}
		if (ev == YAML_SCALAR_EVENT) {
			const char *text = (const char *)c->r.event.data.scalar.value;
			size_t n = c->r.event.data.scalar.length;

			k = config_key_find(text, n, false);
			n = n < sizeof(name) ? n : sizeof(name) - 1;
			memcpy(name, text, n);
			name[n] = 0;
		} else {
			reader_report(&c->r, "%s where a key is expected; " LOST,
				reader_get_shape(&c->r));
			err = -EINVAL;
			break;
		}
		ev = reader_read_event(&c->r);
		if (ev < 0)
			err = ev;
		else
			err = k ? read_ctl_key(c, k, &change)
				: read_ctl_head(c, name, &change, top);
	}
	if (err || c->file->n == CTL_CHANGES_MAX) {
		if (!err)
			report_emit_at(
				&c->report, 0, 0, "more than %d changes; " LOST, CTL_CHANGES_MAX);
		free(change.keys);
		return err;
	}
	c->file->change[c->file->n++] = change;
	return 0;
}

/* Reads the list of key `earlier`. */
static int read_ctl_changes(struct ctl_reader *c)
{
	int ev, err = 0;

	while (!err && (ev = reader_read_event(&c->r)) != YAML_SEQUENCE_END_EVENT) {
		if (ev == YAML_MAPPING_START_EVENT) {
			err = read_ctl_mapping(c, false);
		} else if (ev < 0) {
			err = ev;
		} else {
			reader_report(&c->r, "%s in earlier; " LOST, reader_get_shape(&c->r));
			err = reader_read_rest(&c->r);
		}
	}
	return err;
}

/*
 * Sorts changes by step. Those of the same step stay in the order of reading: the last one was
 * made last.
 */
static void sort_ctl_changes(struct ctl_file *c)
{
	for (unsigned i = 1; i < c->n; i++)
		for (unsigned k = i;
			k && c->change[k - 1].effective_step > c->change[k].effective_step; k--) {
			struct ctl_change x = c->change[k];

			c->change[k] = c->change[k - 1];
			c->change[k - 1] = x;
		}
}

static int read_ctl_document(struct ctl_reader *c)
{
	int ev = reader_open_mapping(&c->r);

	if (ev > 0)
		return read_ctl_mapping(c, true);
	if (ev == 0 || ev == -ENODATA || ev == -ENOTSUP)
		report_emit_at(&c->report, 1, 1, "no keys; " LOST);
	return ev < 0 ? ev : -EINVAL;
}

int ctl_parse(struct ctl_file *file, const char *name, const char *text, size_t len,
	config_report_fn *report, void *arg)
{
	struct ctl_reader *c = calloc(1, sizeof(*c));
	struct fpenv fenv;
	int err;

	memset(file, 0, sizeof(*file));
	file->world_size = -1;
	if (!c)
		return -ENOMEM;
	fpenv_enter(&fenv);
	c->file = file;
	c->fn = report;
	c->arg = arg;
	report_start(&c->report, handle_wrong_ctl_line, c, name);
	err = len > CTL_BYTES_MAX ? -E2BIG : reader_open(&c->r, text, len, &c->report, LOST);
	if (!err)
		err = read_ctl_document(c);
	reader_close(&c->r);
	report_stop(&c->report);
	if (err != -ENOMEM && (err || c->wrong))
		err = -EINVAL;
	/* So the top-level change, read last, stays last among those of its step. */
	sort_ctl_changes(file);
	config_free(&c->scratch);
	fpenv_leave(&fenv);
	free(c);
	return err;
}
