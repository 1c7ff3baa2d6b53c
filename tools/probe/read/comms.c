/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/read/comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/probe/read/csv.h"
#include "tools/probe/intern.h"
#include "tools/probe/tool.h"

#define COMMS_MAX 262144u
#define MEMBERS_MAX (1u << 20) /* of one communicator */

void comms_init(struct comms *c)
{
	*c = (struct comms){0};
	table_init(&c->table, sizeof(struct comm_info), COMMS_MAX);
}

void comms_free(struct comms *c)
{
	for (uint32_t i = 0; i < c->table.n; i++) {
		struct comm_info *k = table_at(&c->table, i);

		free(k->member);
		free(k->seen);
		free(k->ranks);
	}
	table_free(&c->table);
}

static int by_value(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;

	return a < b ? -1 : a > b;
}

/* "0-3;8", of an intercommunicator "0-3|4-7". A list that was cut ("...") says too little and is not used. */
static void parse_members(struct comm_info *c)
{
	unsigned cap = 0;

	for (char *p = c->ranks; *p;) {
		unsigned long lo = strtoul(p, &p, 10), hi = lo;

		if (*p == '-')
			hi = strtoul(p + 1, &p, 10);
		if ((*p && *p != ';' && *p != '|') || hi < lo || hi > INT32_MAX ||
			c->nmember + (hi - lo) >= MEMBERS_MAX) {
			free(c->member);
			c->member = NULL;
			c->nmember = 0;
			return;
		}
		for (; lo <= hi; lo++) {
			TOOL_GROW(c->member, c->nmember, cap);
			c->member[c->nmember++] = (int)lo;
		}
		p += *p != 0;
	}
	if (c->nmember)
		qsort(c->member, c->nmember, sizeof(*c->member), by_value);
}

static uint64_t hex(const struct csv_text *t)
{
	char buf[20] = "", *end;

	if (t->n > 16)
		return 0;
	memcpy(buf, t->s, t->n);

	uint64_t v = strtoull(buf, &end, 16);

	return *end ? 0 : v;
}

/* Libraries that start from a shared id do not know their members; who lists the communicator is one. */
static void add_seen(struct comm_info *k, int rank)
{
	if (k->nseen && k->seen[k->nseen - 1] == rank)
		return;
	TOOL_GROW(k->seen, k->nseen, k->cap_seen);
	k->seen[k->nseen++] = rank;
}

/* They are the members when they are as many as it has. */
static void settle_seen(struct comm_info *k)
{
	if (k->member || k->size < 1 || k->nseen != (uint64_t)k->size)
		return;
	k->member = k->seen;
	k->nmember = k->nseen;
	k->seen = NULL;
	qsort(k->member, k->nmember, sizeof(*k->member), by_value);
}

static void read_file(struct comms *c, const char *path, int rank)
{
	struct csv csv;
	int col[8];
	static const char *const names[8] = {
		"comm", "lib", "size", "rank", "kind", "parent", "name", "world_ranks"};

	if (csv_open(&csv, path, UINT64_MAX, true, 65536)) {
		csv_close(&csv);
		return;
	}
	for (int i = 0; i < 8; i++)
		col[i] = csv_column(&csv, names[i]);
	while (csv_next(&csv)) {
		uint64_t id = hex(csv_at(&csv, col[0]));
		struct comm_info *k = id ? table_get(&c->table, id, 0) : NULL;
		const struct csv_text *t;

		if (!k)
			continue;
		t = csv_at(&csv, col[6]);
		if (!k->name && t->n)
			k->name = intern(t->s, t->n);
		if (!csv_at(&csv, col[7])->n)
			add_seen(k, rank);
		if (k->ranks)
			continue;
		t = csv_at(&csv, col[1]);
		k->lib = intern(t->s, t->n);
		if (!csv_i64(csv_at(&csv, col[2]), &k->size))
			k->size = -1;
		t = csv_at(&csv, col[4]);
		k->kind = intern(t->s, t->n);
		k->parent = hex(csv_at(&csv, col[5]));
		t = csv_at(&csv, col[7]);
		k->ranks = tool_strndup(t->s, t->n);
		parse_members(k);
	}
	c->damaged += csv.damaged;
	csv_close(&csv);
}

void comms_read(struct comms *c, const struct rank_dir *dir, const struct overlay *o)
{
	const char *at[2] = {dir->path, o ? o->path : NULL};

	for (int i = 0; i < 2 && at[i]; i++) {
		char *path = tool_format("%s/comms.csv", at[i]);

		read_file(c, path, dir->rank);
		free(path);
	}
}

void comms_settle(struct comms *c, const struct rank_dir *dir, unsigned n)
{
	for (uint32_t i = 0; i < c->table.n; i++) {
		struct comm_info *k = table_at(&c->table, i);
		unsigned m = 0, d = 0;

		settle_seen(k);
		k->present = 0;
		if (!k->member)
			k->present = k->size < 0	     ? 0
				     : (unsigned)k->size < n ? (unsigned)k->size
							     : n;
		/* Both lists ascend. */
		while (m < k->nmember && d < n) {
			if (k->member[m] < dir[d].rank) {
				m++;
			} else if (k->member[m] > dir[d].rank) {
				d++;
			} else {
				k->present++;
				m++;
				d++;
			}
		}
	}
}

struct comm_info *comms_find(const struct comms *c, uint64_t id)
{
	return id ? table_find(&c->table, id, 0) : NULL;
}

bool comm_has(const struct comm_info *c, int rank)
{
	return c->member && bsearch(&rank, c->member, c->nmember, sizeof(rank), by_value);
}

const char *comm_label(const struct comms *c, uint64_t id, char buf[COMM_LABEL_MAX])
{
	const struct comm_info *k = comms_find(c, id);
	const char *name = k ? intern_name(k->name) : "", *kind = k ? intern_name(k->kind) : "";

	if (!id)
		snprintf(buf, COMM_LABEL_MAX, "-");
	else if (k && *name && strcmp(kind, "world") == 0)
		snprintf(buf, COMM_LABEL_MAX, "%s", name);
	else if (k && k->size >= 0)
		snprintf(buf, COMM_LABEL_MAX, "%016llx (%s%s%s, %lld ranks)",
			(unsigned long long)id, *name ? name : kind, *name && *kind ? ", " : "",
			*name ? kind : "", (long long)k->size);
	else
		snprintf(buf, COMM_LABEL_MAX, "%016llx", (unsigned long long)id);
	return buf;
}
