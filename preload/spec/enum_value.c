/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a library's enums. */
#include <string.h>

#include "base/dtype.h"
#include "spec/spec.h"

uint8_t value_dtype(struct spec_load *l, const struct node *n, bool *derived)
{
	const char *s = node_text(l, n, "other"), *names[DT_COUNT];
	int dt = dtype_from_name(s);

	*derived = strcmp(s, "derived") == 0;
	if (dt >= 0)
		return (uint8_t)dt;
	for (unsigned i = 0; i < DT_COUNT; i++)
		names[i] = dtype_table[i].name;
	if (!*derived)
		load_fail(l, n->at, "'%s' is no dtype; known are %s, derived", s,
			name_list(l, names, DT_COUNT));
	return DT_OTHER;
}

uint8_t value_redop(struct spec_load *l, const struct node *n)
{
	const char *s = node_text(l, n, "");
	int op = name_find(redop_name, REDOP_COUNT, s, strlen(s));

	if (op >= 0)
		return (uint8_t)op;
	load_fail(l, n->at, "'%s' is no reduction; known are %s", s,
		name_list(l, redop_name, REDOP_COUNT));
	return REDOP_NONE;
}

void values_read(struct spec_load *l, struct value_map *m, const struct node *map, bool redop)
{
	if (!map || !node_is(l, map, NODE_MAP, redop ? "redop" : "dtype"))
		return;
	for (unsigned i = 0; i < map->n; i++) {
		struct spec_value *to;
		bool derived = false;

		m->row = load_grow(l, m->row, m->n, sizeof(*m->row));
		to = &m->row[m->n];
		if (!node_int(l, map->key[i], &to->value))
			continue;
		to->to = redop ? value_redop(l, map->item[i])
			       : value_dtype(l, map->item[i], &derived);
		if (derived)
			load_fail(l, map->item[i]->at, "'derived' is for tables under 'abi' only");
		m->n++;
	}
}
