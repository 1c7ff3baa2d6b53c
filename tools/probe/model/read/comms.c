/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "journal/columns.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/files/whole_file.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/calls.h"

#define COMMS_MAX 262144u
#define MEMBERS_MAX (1u << 20) /* maximum number of members of a communicator */

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

static int compare_world_ranks(const void *x, const void *y)
{
	int a = *(const int *)x, b = *(const int *)y;

	return a < b ? -1 : a > b;
}

bool is_plausible_rank_list(const char *text)
{
	const char *p = text;
	unsigned long n = 0;

	while (*p >= '0' && *p <= '9') {
		char *end;
		unsigned long lo = strtoul(p, &end, 10), hi = lo;

		if (*end == '-')
			hi = strtoul(end + 1, &end, 10);
		if (hi < lo || hi > INT32_MAX || hi - lo >= MEMBERS_MAX - n)
			return false;
		n += hi - lo + 1;
		p = end + (*end == ';' || *end == '|');
	}
	return !*p || *p == '.';
}

/*
 * Parses "0-3;8", or "0-3|4-7" for an intercommunicator. A list that was cut ("...") gives no members, a damaged one no text
 * either.
 */
static void parse_members(struct comm_info *c)
{
	unsigned cap = 0;

	if (!is_plausible_rank_list(c->ranks)) {
		free(c->ranks);
		c->ranks = NULL;
		return;
	}
	for (char *p = c->ranks; *p;) {
		unsigned long lo = strtoul(p, &p, 10), hi = lo;

		if (*p == '-')
			hi = strtoul(p + 1, &p, 10);
		if (*p && *p != ';' && *p != '|') {
			free(c->member);
			c->member = NULL;
			c->nmember = c->nfirst = 0;
			return;
		}
		for (; lo <= hi; lo++) {
			TOOL_GROW(c->member, c->nmember, cap);
			c->member[c->nmember++] = (int)lo;
		}
		if (*p == '|')
			c->nfirst = c->nmember;
		p += *p != 0;
	}
	c->in_order = c->nmember && !strchr(c->ranks, '|');
	for (unsigned i = 1; i < c->nmember && c->in_order; i++)
		c->in_order = c->member[i] > c->member[i - 1];
	if (c->nmember && !c->in_order)
		qsort(c->member, c->nmember, sizeof(*c->member), compare_world_ranks);
}

static uint64_t parse_hex(const struct csv_text *t)
{
	char buf[20] = "", *end;

	if (t->n > 16)
		return 0;
	memcpy(buf, t->s, t->n);

	uint64_t v = strtoull(buf, &end, 16);

	return *end ? 0 : v;
}

/*
 * Libraries that start from a shared id do not know the members. A rank whose folder lists the
 * communicator is a member.
 */
static void add_seen(struct comm_info *k, int rank)
{
	if (k->nseen && k->seen[k->nseen - 1] == rank)
		return;
	TOOL_GROW(k->seen, k->nseen, k->cap_seen);
	k->seen[k->nseen++] = rank;
}

/* The ranks that list it are all members if their number equals the communicator's size. */
static void set_seen_as_members(struct comm_info *k)
{
	if (k->member || k->size < 1 || k->nseen != (uint64_t)k->size)
		return;
	k->member = k->seen;
	k->nmember = k->nseen;
	k->seen = NULL;
	qsort(k->member, k->nmember, sizeof(*k->member), compare_world_ranks);
}

static void read_comm_file(struct comms *c, const char *path, int rank)
{
	struct csv csv;
	int col[COMM_COLUMNS];

	if (csv_open(&csv, path, UINT64_MAX, true, 65536)) {
		csv_close(&csv);
		return;
	}
	csv_find_columns(&csv, COMM_HEADER, col);
	while (csv_read_row(&csv)) {
		uint64_t id = parse_hex(csv_get_field(&csv, col[COMM_COL_comm]));
		struct comm_info *k = id ? table_get(&c->table, id, 0) : NULL;
		const struct csv_text *t;

		if (!k)
			continue;
		t = csv_get_field(&csv, col[COMM_COL_name]);
		if (!k->name && t->n)
			k->name = csv_get_field_id(t);
		if (!csv_get_field(&csv, col[COMM_COL_world_ranks])->n)
			add_seen(k, rank);
		if (k->ranks)
			continue;
		t = csv_get_field(&csv, col[COMM_COL_lib]);
		k->lib = csv_get_field_id(t);
		if (!csv_parse_i64(csv_get_field(&csv, col[COMM_COL_size]), &k->size))
			k->size = -1;
		t = csv_get_field(&csv, col[COMM_COL_kind]);
		k->kind = csv_get_field_id(t);
		k->parent = parse_hex(csv_get_field(&csv, col[COMM_COL_parent]));
		t = csv_get_field(&csv, col[COMM_COL_world_ranks]);
		k->ranks = tool_strndup(t->s, t->n);
		parse_members(k);
		c->inter += k->nfirst != 0;
	}
	c->damaged += csv.damaged;
	csv_close(&csv);
}

/* Reads a file of formats/csv_training/parallel_json.c, one line per communicator. */
static void read_roles(struct comms *c, const char *path)
{
	FILE *f = open_regular_stream(path, 0);
	char line[1024], role[16];
	unsigned long long id;

	while (f && fgets(line, sizeof(line), f)) {
		struct comm_info *k;

		if (sscanf(line, " {\"comm\": \"%16llx\", \"role\": \"%15[a-z]\"", &id, role) != 2)
			continue;
		k = id ? table_find(&c->table, id, 0) : NULL;
		if (k && !k->role)
			k->role = intern_add_text(role, strlen(role));
	}
	if (f)
		fclose(f);
}

void comms_read(struct comms *c, const struct rank_dir *dir, const struct overlay *o)
{
	const char *at[2] = {dir->path, o ? o->path : NULL};

	for (int i = 0; i < 2 && at[i]; i++) {
		char *path = tool_format("%s/comms.csv", at[i]);

		read_comm_file(c, path, dir->rank);
		free(path);
	}

	char *roles = tool_format("%s/parallel.json", dir->path);

	read_roles(c, roles);
	free(roles);
}

void comms_set_present_members(struct comms *c, const struct rank_dir *dir, unsigned n)
{
	for (uint32_t i = 0; i < c->table.n; i++) {
		struct comm_info *k = table_at(&c->table, i);
		unsigned m = 0, d = 0;

		set_seen_as_members(k);
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

int comm_get_member(const struct comm_info *c, int64_t n)
{
	const char *p = c->ranks ? c->ranks : "";
	char *end;

	if (c->in_order)
		return n >= 0 && n < c->nmember ? c->member[n] : -1;
	while (*p && n >= 0) {
		long lo = strtol(p, &end, 10), hi = lo;

		if (end == p)
			return -1;
		p = end;
		if (*p == '-') {
			hi = strtol(p + 1, &end, 10);
			p = end;
		}
		if ((*p && *p != ';' && *p != '|') || hi < lo)
			return -1;
		if (n <= hi - lo)
			return (int)(lo + n);
		n -= hi - lo + 1;
		p += *p != 0;
	}
	return -1;
}

/* n is the number of a rank, NO_NUMBER, a negative constant, or in a damaged file anything. */
static int64_t add_to_rank_number(int64_t n, unsigned added)
{
	return n == NO_NUMBER || n < 0 || n > INT32_MAX ? n : n + added;
}

void comms_set_call_numbers(const struct comms *c, struct call *call, int rank)
{
	const struct comm_info *k = c->inter ? comms_find(c, call->comm) : NULL;
	bool second;

	if (!k || !k->nfirst)
		return;
	second = comm_get_member(k, call->comm_rank) != rank || call->comm_rank >= k->nfirst;
	call->comm_rank = add_to_rank_number(call->comm_rank, second ? k->nfirst : 0);
	call->peer = add_to_rank_number(call->peer, second ? 0 : k->nfirst);
	call->source = add_to_rank_number(call->source, second ? 0 : k->nfirst);
	if (call->size != NO_NUMBER)
		call->size = k->nmember;
}

int64_t comm_get_number_in_group(const struct comm_info *c, int64_t n)
{
	return c && c->nfirst && n >= c->nfirst ? n - c->nfirst : n;
}

bool comm_has(const struct comm_info *c, int rank)
{
	return c->member &&
	       bsearch(&rank, c->member, c->nmember, sizeof(rank), compare_world_ranks);
}

/* Returns "tensor-parallel" for the role tensor; buf: memory for it. */
static const char *format_role_words(const char *role, char buf[32])
{
	if (strcmp(role, "exchange") == 0)
		return "all-to-all";
	snprintf(buf, 32, "%.20s-parallel", role);
	return buf;
}

const char *comm_format_label(const struct comms *c, uint64_t id, char buf[COMM_LABEL_MAX])
{
	const struct comm_info *k = comms_find(c, id);
	const char *name = k ? intern_get_name(k->name) : "",
		   *kind = k ? intern_get_name(k->kind) : "";
	char role[32];

	if (!id)
		snprintf(buf, COMM_LABEL_MAX, "-");
	else if (k && k->role && k->ranks && *k->ranks && strlen(k->ranks) < 80)
		snprintf(buf, COMM_LABEL_MAX, "%s group%s%.40s of ranks %s",
			format_role_words(intern_get_name(k->role), role),
			strncmp(kind, "mesh_", 5) == 0 ? " " : "",
			strncmp(kind, "mesh_", 5) == 0 ? kind + 5 : "", k->ranks);
	else if (k && strncmp(kind, "mesh_", 5) == 0 && k->ranks && strlen(k->ranks) < 80)
		snprintf(buf, COMM_LABEL_MAX, "group %.40s of ranks %s", kind + 5, k->ranks);
	else if (k && *name && strcmp(kind, "world") == 0)
		snprintf(buf, COMM_LABEL_MAX, "%s", name);
	else if (k && k->nfirst && strlen(k->ranks) < 80)
		snprintf(buf, COMM_LABEL_MAX, "%016llx (%.40s, ranks %s)", (unsigned long long)id,
			*name ? name : kind, k->ranks);
	else if (k && k->size >= 0)
		snprintf(buf, COMM_LABEL_MAX, "%016llx (%s%s%s, %lld ranks)",
			(unsigned long long)id, *name ? name : kind, *name && *kind ? ", " : "",
			*name ? kind : "", (long long)k->size);
	else
		snprintf(buf, COMM_LABEL_MAX, "%016llx", (unsigned long long)id);
	return buf;
}
