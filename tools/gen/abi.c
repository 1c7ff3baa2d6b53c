/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables for the adapter: constants that differ between implementations of a library. Also reads
 * the key `check`.
 */
#include "gen.h"

#include <string.h>

static const char *const abi_keys[] = {"flavours", "dtype", "redop", "const", NULL};
static const char *const check_keys[] = {
	"headers", "start", "stop", "dtype_size", "dtype_null", "names", "dtypes", "redops", NULL};

static void copy_name(const struct node *source, char to[static ABI_NAME_BYTES], const char *name)
{
	if (strlen(name) >= ABI_NAME_BYTES)
		fail(source->at, "'%s' is too long, at most %u bytes fit", name,
			ABI_NAME_BYTES - 1);
	else
		strcpy(to, name);
}

/* ~: the constant does not exist; an integer; or a symbol whose address is the value. */
static void cell_read(const struct node *n, struct abi_cell *cell)
{
	const char *s = node_text(&gen, n, "~");

	if (strcmp(s, "~") == 0 && !n->quotes)
		return;
	if (strspn(s, "-0123456789") == 0) {
		cell->form = ABI_ADDRESS;
		copy_name(n, cell->symbol, s);
		return;
	}
	cell->form = ABI_VALUE;
	node_int(&gen, n, &cell->value);
}

enum table { TABLE_DTYPE, TABLE_REDOP, TABLE_CONST };

/* [expression, a cell for each flavour]; the expression may be missing in `const`. */
static void row_read(const struct abi *a, enum table kind, const struct node *n, const char *name,
	struct abi_row *row)
{
	unsigned first = n->n - a->nflavour;

	if (n->n < a->nflavour || first > 1 || (kind != TABLE_CONST && first == 0)) {
		fail(n->at, "'%s' needs %s and one value for each of the %u flavours (~: none)",
			name,
			kind == TABLE_DTYPE   ? "a dtype"
			: kind == TABLE_REDOP ? "a reduction"
					      : "a C expression (may be omitted)",
			a->nflavour);
		return;
	}
	copy_name(n, row->c.name, name);
	row->expr = name;
	if (kind == TABLE_DTYPE)
		row->c.to = value_dtype(&gen, n->item[0], &row->c.derived);
	else if (kind == TABLE_REDOP)
		row->c.to = value_redop(&gen, n->item[0]);
	else if (first)
		row->expr = node_text(&gen, n->item[0], name);
	for (unsigned i = 0; i < a->nflavour; i++)
		cell_read(n->item[first + i], &row->c.at[i]);
}

static void table_read(
	const struct abi *a, enum table kind, const struct node *map, struct abi_table *t)
{
	if (!map || !node_is(&gen, map, NODE_MAP, "the table"))
		return;
	for (unsigned i = 0; i < map->n; i++) {
		if (!node_is(&gen, map->item[i], NODE_LIST, map->key[i]->text))
			continue;
		t->row = mem_grow(t->row, t->n, sizeof(*t->row));
		row_read(a, kind, map->item[i], map->key[i]->text, &t->row[t->n++]);
	}
}

static void abi_read(struct abi *a, const struct node *map)
{
	const struct node *flavours = node_get(map, "flavours");

	if (!map || !node_is(&gen, map, NODE_MAP, "abi"))
		return;
	node_known(&gen, map, abi_keys, "abi");
	if (!flavours || !node_is(&gen, flavours, NODE_MAP, "flavours") || flavours->n == 0 ||
		flavours->n > ABI_FLAVOURS_MAX) {
		fail(map->at,
			"abi needs flavours: {name: \"condition of the preprocessor\"}, 1 to %d of "
			"them",
			ABI_FLAVOURS_MAX);
		return;
	}
	for (unsigned i = 0; i < flavours->n; i++) {
		a->flavour[a->nflavour] = flavours->key[i]->text;
		a->when[a->nflavour++] = node_text(&gen, flavours->item[i], "0");
	}
	table_read(a, TABLE_DTYPE, node_get(map, "dtype"), &a->dtype);
	table_read(a, TABLE_REDOP, node_get(map, "redop"), &a->redop);
	table_read(a, TABLE_CONST, node_get(map, "const"), &a->constant);
}

static const struct node *map_of(const struct node *n, const char *key)
{
	const struct node *map = node_get(n, key);

	return map && node_is(&gen, map, NODE_MAP, key) ? map : NULL;
}

static void check_read(struct check *c, const struct node *n)
{
	if (!n || !node_is(&gen, n, NODE_MAP, "check"))
		return;
	node_known(&gen, n, check_keys, "check");
	c->headers = node_get(n, "headers");
	c->names = node_get(n, "names");
	c->dtypes = map_of(n, "dtypes");
	c->redops = map_of(n, "redops");
	c->start = node_text(&gen, node_get(n, "start"), NULL);
	c->stop = node_text(&gen, node_get(n, "stop"), NULL);
	c->dtype_size = node_text(&gen, node_get(n, "dtype_size"), NULL);
	c->dtype_null = node_text(&gen, node_get(n, "dtype_null"), NULL);
	if (!c->headers || !node_is(&gen, c->headers, NODE_LIST, "headers"))
		fail(n->at, "check needs headers: [file.h]");
	if (c->names && !node_is(&gen, c->names, NODE_MAP, "names"))
		c->names = NULL;
}

void library_read(struct library *lib, struct spec *s)
{
	lib->spec = s;
	abi_read(&lib->abi, node_get(s->top, "abi"));
	check_read(&lib->check, node_get(s->top, "check"));
}
