/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct counted_name {
	char *text;
	uint32_t count;
};

struct dump_names {
	struct counted_name *name;
	uint32_t n, cap;
	uint32_t *place; /* hash table of 1 + number */
	uint32_t places; /* size of the table, a power of two */
};

struct dump_names *dump_names_open(void)
{
	struct dump_names *n = calloc(1, sizeof(*n));

	if (n) {
		n->places = 1024;
		n->place = calloc(n->places, sizeof(*n->place));
	}
	if (n && !n->place) {
		free(n);
		n = NULL;
	}
	return n;
}

void dump_names_free(struct dump_names *n)
{
	for (uint32_t i = 0; n && i < n->n; i++)
		free(n->name[i].text);
	if (n) {
		free(n->name);
		free(n->place);
	}
	free(n);
}

static uint32_t *find_name_place(struct dump_names *n, const char *name)
{
	uint32_t i = (uint32_t)hash_str(0, name) & (n->places - 1);

	while (n->place[i] && strcmp(n->name[n->place[i] - 1].text, name) != 0)
		i = (i + 1) & (n->places - 1);
	return &n->place[i];
}

static int add_name_places(struct dump_names *n)
{
	uint32_t *old = n->place;

	n->place = calloc(n->places * 2, sizeof(*n->place));
	if (!n->place) {
		n->place = old;
		return -1;
	}
	n->places *= 2;
	for (uint32_t i = 0; i < n->n; i++)
		*find_name_place(n, n->name[i].text) = i + 1;
	free(old);
	return 0;
}

uint32_t dump_names_find(struct dump_names *n, const char *name)
{
	uint32_t *at = find_name_place(n, name);

	if (*at)
		return *at - 1;
	if (n->n == n->cap) {
		uint32_t want = n->cap ? n->cap * 2 : 256;
		struct counted_name *more = realloc(n->name, want * sizeof(*more));

		if (!more)
			return UINT32_MAX;
		n->name = more;
		n->cap = want;
	}
	if (n->n * 2 >= n->places && add_name_places(n) < 0)
		return UINT32_MAX;
	n->name[n->n] = (struct counted_name){.text = strdup(name)};
	if (!n->name[n->n].text)
		return UINT32_MAX;
	*find_name_place(n, name) = n->n + 1;
	return n->n++;
}

const char *dump_names_get_text(const struct dump_names *n, uint32_t at)
{
	return n->name[at].text;
}

uint32_t dump_names_add_call(struct dump_names *n, uint32_t name)
{
	return n->name[name].count++;
}
