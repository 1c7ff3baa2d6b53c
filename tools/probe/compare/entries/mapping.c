/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/entries/mapping.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "tools/lib/table.h"
#include "tools/lib/tool.h"

struct mapped {
	struct table_key key; /* hash and length of the name */
	char *to;
};

struct mapping {
	struct table names;
	struct table calls;
	bool by_call; /* calls are mapped together with their items */
	struct pool pool;
};

struct mapping *mapping_init(void)
{
	struct mapping *m = tool_alloc(sizeof(*m));

	table_init(&m->names, sizeof(struct mapped), UINT32_MAX);
	table_init(&m->calls, sizeof(struct mapped), UINT32_MAX);
	return m;
}

void map_call_name(struct mapping *m, const char *call, const char *partner)
{
	size_t n = strlen(call);
	struct mapped *e = table_get(&m->calls, compute_call_name_hash(call, n), n);

	m->by_call = true;
	if (e)
		e->to = pool_copy_text(&m->pool, partner);
}

static void add_mapped_name(struct mapping *m, const char *name, const char *partner)
{
	size_t n = strlen(name);
	struct mapped *e = table_get(&m->names, compute_call_name_hash(name, n), n);

	if (e)
		e->to = pool_copy_text(&m->pool, partner);
}

/* Reads pairs of strings. Returns false if the file contains anything else. */
static bool read_mapping_pairs(
	struct mapping *m, yaml_parser_t *parser, unsigned *line, const char **why)
{
	yaml_event_t e;
	char *key = NULL;
	unsigned depth = 0;
	bool good = true, end = false;

	*why = NULL;
	while (good && !end) {
		if (!yaml_parser_parse(parser, &e)) {
			*line = (unsigned)parser->problem_mark.line + 1;
			*why = parser->problem ? parser->problem : "no YAML";
			good = false;
			break;
		}
		*line = (unsigned)e.start_mark.line + 1;
		if (e.type == YAML_MAPPING_START_EVENT && depth == 0) {
			depth = 1;
		} else if (e.type == YAML_SCALAR_EVENT && depth) {
			const char *text = (const char *)e.data.scalar.value;

			if (key) {
				add_mapped_name(m, key, text);
				free(key);
				key = NULL;
			} else {
				key = tool_strdup(text);
			}
		} else if (e.type == YAML_STREAM_END_EVENT) {
			end = true;
		} else if (e.type == YAML_MAPPING_START_EVENT ||
			   e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_ALIAS_EVENT ||
			   e.type == YAML_SCALAR_EVENT) {
			*why = "accepted: lines \"NAME IN A: NAME IN B\"";
			good = false;
		}
		yaml_event_delete(&e);
	}
	free(key);
	return good;
}

struct mapping *read_data_mapping(const char *path)
{
	struct mapping *m = mapping_init();
	FILE *f = fopen(path, "rb");
	yaml_parser_t parser;
	unsigned line = 0;
	const char *why;
	bool good;

	if (!f || !yaml_parser_initialize(&parser)) {
		tool_error("compare: %s: %s", path, strerror(f ? ENOMEM : errno));
		if (f)
			fclose(f);
		free_mapping(m);
		return NULL;
	}
	yaml_parser_set_input_file(&parser, f);
	good = read_mapping_pairs(m, &parser, &line, &why);
	if (!good)
		tool_error("compare: %s:%u: %s", path, line, why);
	yaml_parser_delete(&parser);
	fclose(f);
	if (!good) {
		free_mapping(m);
		return NULL;
	}
	return m;
}

void free_mapping(struct mapping *m)
{
	if (!m)
		return;
	table_free(&m->names);
	table_free(&m->calls);
	pool_free(&m->pool);
	free(m);
}

const char *map_item_name(struct mapping *m, const char *call, const struct item *i)
{
	size_t n = strlen(m->by_call ? call : i->name);
	const struct mapped *e;

	if (!m->by_call) {
		e = table_find(&m->names, compute_call_name_hash(i->name, n), n);
		return e ? e->to : i->name;
	}
	e = table_find(&m->calls, compute_call_name_hash(call, n), n);
	return e && e->to ? pool_format(&m->pool, "%s%s", e->to, i->tail) : NULL;
}
