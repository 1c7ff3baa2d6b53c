/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a library's enums. */
#include <string.h>

#include "terms/dtype.h"
#include "spec/spec.h"

uint8_t spec_value_find(const struct spec_values *values, int64_t value, uint8_t other)
{
	for (uint32_t i = 0; values && i < values->n; i++)
		if (values->row[i].value == value)
			return values->row[i].to;
	return other;
}

/* ---- values in a spec ---- */

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

static void codes_read(struct spec_load *l, const struct node *n, int16_t *list, unsigned max)
{
	int64_t v;

	if (!n || !node_is(l, n, NODE_LIST, "a list of values"))
		return;
	if (n->n >= max)
		load_fail(l, n->at, "at most %u values", max - 1);
	for (unsigned i = 0; i < n->n && i + 1 < max; i++) {
		const char *s = node_text(l, n->item[i], "");

		if (s[0] && !s[1] && !strchr("0123456789", s[0])) /* a letter */
			list[i] = (int16_t)s[0];
		else if (node_int(l, n->item[i], &v))
			list[i] = (int16_t)v;
	}
}

void matrix_read(struct spec_load *l, struct spec *s)
{
	static const char *const keys[] = {"row_major", "transposed", "left", "right", NULL};
	const struct node *map = node_get(s->top, "matrix");
	struct matrix_codes *m = &s->matrix;
	int64_t v = 0;

	if (!map || !node_is(l, map, NODE_MAP, "matrix"))
		return;
	node_known(l, map, keys, "matrix");
	s->has_matrix = true;
	if (node_get(map, "row_major") && node_int(l, node_get(map, "row_major"), &v))
		m->row_major = (int16_t)v;
	v = 0;
	if (node_get(map, "right") && node_int(l, node_get(map, "right"), &v))
		m->right = (int16_t)v;
	codes_read(l, node_get(map, "transposed"), m->transposed,
		sizeof(m->transposed) / sizeof(m->transposed[0]));
	codes_read(l, node_get(map, "left"), m->left, sizeof(m->left) / sizeof(m->left[0]));
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
