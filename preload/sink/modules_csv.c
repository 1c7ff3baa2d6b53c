/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/modules_csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "text/text.h"
#include "journal/columns.h"
#include "sink/column.h"

/* Quoting may double a field. */
#define MODULE_ROW (2 * MODULE_PATH_MAX + 2 * BUILD_ID_MAX + 8)

static int parse_build_id_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool module_parse(const char *text, struct module *m)
{
	char *p;
	const char *path = text + strlen(text) + 1;

	*m = (struct module){0};
	m->lo = strtoull(text, &p, 16);
	m->hi = strtoull(p, &p, 16);
	m->bias = strtoull(p, &p, 16);
	while (*p == ' ')
		p++;
	for (; parse_build_id_digit(p[0]) >= 0 && parse_build_id_digit(p[1]) >= 0 &&
		m->build_id_len < sizeof(m->build_id);
		p += 2)
		m->build_id[m->build_id_len++] =
			(uint8_t)(parse_build_id_digit(p[0]) << 4 | parse_build_id_digit(p[1]));
	if (strlen(path) >= sizeof(m->path))
		return false;
	strcpy(m->path, path);
	return m->hi > m->lo;
}

/* Returns the next module of the dictionary from *at on; NULL after the last. */
static const struct module *read_next_module(
	const struct journal *j, uint64_t *at, bool *gap, struct module *m)
{
	const struct dict_entry *e;

	while ((e = journal_dict_read_next(j, at, gap)))
		if (e->kind == DICT_MODULE && module_parse((const char *)(e + 1), m))
			return m;
	return NULL;
}

static void write_build_id(struct text *out, const struct module *m)
{
	for (unsigned b = 0; b < m->build_id_len; b++)
		text_add_hex(out, m->build_id[b], 2);
}

#define PUT_BYTES(m) write_build_id(out, m)

static void write_module_row(struct text *out, const struct module *m)
{
#define MODULE_COLUMN(name, type, source, help) \
	PUT_##type(source);                     \
	write_comma(out);
#include "journal/columns.def"
	csv_close_row(out);
}

int modules_write(const struct journal *j, int dirfd, uint64_t *written)
{
	struct module m;
	uint64_t at = *written;
	bool gap = false;
	size_t n = 0, cap;
	char *buf;
	int err;

	if (!read_next_module(j, &at, &gap, &m))
		return 0;
	at = 0;
	while (read_next_module(j, &at, &gap, &m))
		n++;
	cap = strlen(MODULES_HEADER) + n * MODULE_ROW + 1;
	buf = malloc(cap);
	if (!buf)
		return -ENOMEM;

	struct text t = text_init(buf, cap);

	text_add_string(&t, MODULES_HEADER);
	at = 0;
	for (size_t i = 0; i < n && read_next_module(j, &at, &gap, &m); i++)
		write_module_row(&t, &m);
	err = t.cut ? -EMSGSIZE : io_replace_file(dirfd, "modules.csv", buf, t.len);
	free(buf);
	if (!err)
		*written = at;
	return err;
}
