/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/places/sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "journal/columns.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/places/frames.h"

#define STACK_ID_MAX (1u << 22)
#define TURNS_MAX (1u << 21) /* of all ranks together ... */
#define TURNS_MIN 8192u /* ... but at least this many of each rank */
#define FRAMES_OF_SITE 3
#define READS_MAX 3 /* how often a file is read that a running process still writes */

/* How often a rank has made calls from a call site in its current step, on one communicator or on all. */
struct site_turn {
	struct table_key key; /* a: call site; b: communicator, or 0 for all */
	uint64_t step, seq;
	uint32_t n;
};

void sites_init(struct sites *s, unsigned nrank)
{
	uint32_t most = nrank ? TURNS_MAX / nrank : 0;

	*s = (struct sites){.rank = tool_alloc(nrank * sizeof(*s->rank)), .n = nrank};
	for (unsigned i = 0; i < nrank; i++) {
		pthread_mutex_init(&s->rank[i].reading, NULL);
		table_init_small(&s->rank[i].turns, sizeof(struct site_turn),
			most > TURNS_MIN ? most : TURNS_MIN);
	}
}

void sites_free(struct sites *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		free(s->rank[i].of_stack);
		free(s->rank[i].near_stack);
		free(s->rank[i].leaf_stack);
		table_free(&s->rank[i].turns);
		pthread_mutex_destroy(&s->rank[i].reading);
	}
	free(s->rank);
}

void name_site_folders(struct sites *s, uint32_t rank, const char *path, const char *more)
{
	s->rank[rank].path = path;
	s->rank[rank].more = more;
}

static uint64_t hash_frames(const char *text, unsigned first, unsigned frames)
{
	const char *f;
	uint64_t h = 0;
	size_t n;

	for (unsigned i = 0; i < frames && (f = stack_frame(text, first + i, &n)); i++) {
		uint64_t v = UINT64_C(0xcbf29ce484222325);

		for (size_t k = 0; k < n; k++)
			v = (v ^ (unsigned char)f[k]) * UINT64_C(0x100000001b3);
		h = hash_u64(h, v);
	}
	return h;
}

/*
 * Hashes the innermost frames, because outer ones may differ between ranks. In a Python stack: up
 * to the program's innermost frame and its caller, because a trainer makes many calls from one line
 * of the program. One hook is called for several backward passes: then their line is hashed, too.
 */
static uint64_t hash_site_frames(const char *python, const char *native)
{
	unsigned caller = *python ? stack_find_caller_of_library(python) : 0;
	uint64_t h = *python ? hash_frames(python, 0, stack_place_frames(python))
			     : hash_frames(native, 0, FRAMES_OF_SITE);

	return caller ? hash_u64(h, hash_frames(python, caller, 1)) : h;
}

/*
 * Hashes the innermost native frame; in a Python stack, the framework's function and the program's
 * line.
 */
static uint64_t hash_near_frames(const char *python, const char *native)
{
	unsigned own = *python ? stack_find_own_frame(python) : 0;

	return hash_frames(*python ? python : native, own ? own - 1 : 0, *python ? 2 : 1);
}

static uint64_t *grow_stacks(uint64_t *of, uint32_t have, uint32_t want)
{
	of = tool_realloc(of, want * sizeof(*of));
	memset(of + have, 0, (want - have) * sizeof(*of));
	return of;
}

static void read_site_file(struct rank_sites *r, const char *dir)
{
	char *path = tool_format("%s/stack_info.csv", dir);
	struct csv c;
	uint64_t id;

	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		int col[STACK_COLUMNS];

		csv_find_columns(&c, STACK_HEADER, col);
		while (csv_read_row(&c)) {
			if (!csv_parse_u64(csv_get_field(&c, col[STACK_COL_stack_id]), &id) ||
				!id || id > STACK_ID_MAX)
				continue;
			if (id >= r->cap) {
				uint32_t cap = r->cap ? r->cap : 64;

				while (cap <= id)
					cap *= 2;
				r->of_stack = grow_stacks(r->of_stack, r->cap, cap);
				r->near_stack = grow_stacks(r->near_stack, r->cap, cap);
				r->leaf_stack = grow_stacks(r->leaf_stack, r->cap, cap);
				r->cap = cap;
			}
			if (r->of_stack[id])
				continue;

			char *python =
				csv_copy_field(csv_get_field(&c, col[STACK_COL_python_stack]));
			char *native =
				csv_copy_field(csv_get_field(&c, col[STACK_COL_native_stack]));

			r->of_stack[id] = hash_site_frames(python, native);
			r->near_stack[id] = hash_near_frames(python, native);
			r->leaf_stack[id] =
				hash_frames(*python ? python : native, 0, FRAMES_OF_SITE);
			free(python);
			free(native);
		}
	}
	csv_close(&c);
	free(path);
}

static uint64_t site_of_stack(struct rank_sites *r, uint32_t id)
{
	if (!id)
		return 0;
	if ((id >= r->cap || !r->of_stack[id]) && r->reads < READS_MAX && r->path) {
		r->reads++;
		pthread_mutex_lock(&r->reading);
		read_site_file(r, r->path);
		if (r->more)
			read_site_file(r, r->more);
		pthread_mutex_unlock(&r->reading);
	}
	return id < r->cap ? r->of_stack[id] : 0;
}

/* t NULL: the table is full. */
static uint32_t count_turn(struct site_turn *t, struct call *c)
{
	if (!t)
		return 0;
	/* Rows of a call that was open for a long time are written late. */
	if (t->step == c->step && t->seq > c->seq)
		c->bits |= CALL_LATE;
	t->seq = c->seq > t->seq ? c->seq : t->seq;
	if (t->step != c->step)
		t->n = 0;
	t->step = c->step;
	return t->n++;
}

static struct latest_turns find_turns(struct rank_sites *r, const struct call *c)
{
	uint64_t key = hash_u64(c->site, c->api);
	struct latest_turns found = {c->stack, c->api, c->comm, table_get(&r->turns, key, 0), NULL};

	found.own = c->comm ? table_get(&r->turns, key, c->comm) : NULL;
	return found;
}

void find_site(struct sites *s, struct call *c)
{
	struct rank_sites *r = &s->rank[c->rank];
	struct latest_turns *latest = &r->latest[c->stack % LATEST_TURNS], found;

	c->site = site_of_stack(r, c->stack);
	if (!s->steps)
		return;
	if (latest->stack == c->stack && latest->comm == c->comm && latest->api == c->api &&
		c->stack) {
		found = *latest;
	} else {
		found = find_turns(r, c);
		/* The site of a stack that is not known yet will change. */
		if (c->site && found.all && (found.own || !c->comm))
			*latest = found;
	}
	c->turn = count_turn(found.all, c);
	c->nth = c->comm ? count_turn(found.own, c) : c->turn;
}

uint64_t find_near_site(const struct sites *s, const struct call *c)
{
	struct rank_sites *r = &s->rank[c->rank];
	uint64_t near;

	pthread_mutex_lock(&r->reading);
	near = c->stack < r->cap ? r->near_stack[c->stack] : 0;
	pthread_mutex_unlock(&r->reading);
	return near;
}

uint64_t find_leaf_site(const struct sites *s, const struct call *c)
{
	struct rank_sites *r = &s->rank[c->rank];
	uint64_t leaf;

	pthread_mutex_lock(&r->reading);
	leaf = c->stack < r->cap ? r->leaf_stack[c->stack] : 0;
	pthread_mutex_unlock(&r->reading);
	return leaf;
}

static uint64_t get_place_of_turn(const struct call *c, uint64_t nth)
{
	uint64_t h = hash_u64(hash_u64(hash_u64(c->site, c->comm), c->api), nth);

	return c->bits & CALL_P2P ? hash_u64(hash_u64(h, (uint64_t)c->peer), (uint64_t)c->tag) : h;
}

uint64_t hash_place(const struct call *c)
{
	return get_place_of_turn(c, c->nth);
}

uint64_t get_place_of_all_turns(const struct call *c)
{
	return get_place_of_turn(c, UINT64_MAX);
}
