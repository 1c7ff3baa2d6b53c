/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/stats_store.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "base/hash.h"
#include "terms/scalar.h"
#include "terms/train_kind.h"
#include "sink/format.h"
#include "sink/statistic.h"

#define VALUES_MAX (1u << 20) /* additional parameters count as lost rows */
#define PAGE_VALUES 1024u
#define VALUE_OP TRAIN_OPS_END /* op of a scalar */

struct stored {
	char *kind, *name; /* never freed, because callers have pointers to them */
	uint32_t step;
	bool scalar;
	double value[TRAIN_OPS_END]; /* index: enum train_op; a scalar uses the first */
};

/*
 * Guarded by `lock`: the writer stores values, any thread of the program reads them. A leaf: no
 * other lock is taken under it. A forked child initialises it again.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct stored *page[VALUES_MAX / PAGE_VALUES];
	uint32_t n;
	uint32_t *place; /* hash table of 1 + number; 0: free */
	uint32_t nplace;
} * store;

static struct stored *get_stored(uint32_t i)
{
	return &store->page[i / PAGE_VALUES][i % PAGE_VALUES];
}

/* Returns the slot of an entry in the hash table, or the free slot for it. */
static uint32_t *find_stored_place(const char *kind, const char *name)
{
	uint32_t i = (uint32_t)hash_str(hash_str(1, kind), name) & (store->nplace - 1);

	for (;; i = (i + 1) & (store->nplace - 1)) {
		const struct stored *s = store->place[i] ? get_stored(store->place[i] - 1) : NULL;

		if (!s || (strcmp(s->kind, kind) == 0 && strcmp(s->name, name) == 0))
			return &store->place[i];
	}
}

static bool add_store_places(void)
{
	uint32_t was = store->nplace, *old = store->place;
	uint32_t *more = calloc(was ? 2 * (size_t)was : 4096, sizeof(*more));

	if (!more)
		return false;
	store->place = more;
	store->nplace = was ? 2 * was : 4096;
	for (uint32_t i = 0; i < was; i++)
		if (old[i]) {
			const struct stored *s = get_stored(old[i] - 1);

			*find_stored_place(s->kind, s->name) = old[i];
		}
	free(old);
	return true;
}

/* Returns NULL if there is no memory, or the store is full. Caller holds the lock. */
static struct stored *add_stored(const char *kind, const char *name)
{
	struct stored *s, **page;
	uint32_t *place;

	if (!store && !(store = calloc(1, sizeof(*store))))
		return NULL;
	if (2 * (store->n + 1) > store->nplace && !add_store_places())
		return NULL;
	place = find_stored_place(kind, name);
	if (*place)
		return get_stored(*place - 1);
	if (store->n == VALUES_MAX)
		return NULL;
	page = &store->page[store->n / PAGE_VALUES];
	if (!*page && !(*page = calloc(PAGE_VALUES, sizeof(**page))))
		return NULL;
	s = get_stored(store->n);
	s->kind = strdup(kind);
	s->name = s->kind ? strdup(name) : NULL;
	if (!s->name) {
		free(s->kind);
		return NULL;
	}
	*place = ++store->n;
	return s;
}

static int open_api(void *state, struct files *files)
{
	*(struct files **)state = files;
	return 0;
}

static int record_kind_value(void *state, const struct record_kind *r)
{
	struct files *files = *(struct files **)state;
	bool number = is_number_kind(r->kind->kind);
	struct stored *s;

	if (!number && train_kinds[r->kind->kind].form != KIND_OPS)
		return 0;
	pthread_mutex_lock(&lock);
	s = add_stored(r->word, r->name);
	if (s) {
		s->step = r->kind->step;
		s->scalar = number;
		for (int op = 1; op < TRAIN_OPS_END && !number; op++)
			if (!find_statistic(&r->kind->stats, r->kind->dtype, r->kind->count,
				    (enum train_op)op, &s->value[op]))
				s->value[op] = __builtin_nan("");
		if (number)
			s->value[0] = r->kind->e.n ? r->value[0] : __builtin_nan("");
	}
	pthread_mutex_unlock(&lock);
	files->j->head->lost_rows += !s;
	return 0;
}

static int record_scalar_value(void *state, const struct record_scalar *e)
{
	struct stored *s;

	(void)state;
	/* If there are several groups, the first one is used. */
	if (e->optimizer || (e->group != JOURNAL_NO_GROUP && e->group))
		return 0;
	pthread_mutex_lock(&lock);
	s = add_stored("scalars", scalar_names[e->which]);
	if (s) {
		s->step = e->step;
		s->scalar = true;
		s->value[0] = e->value;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

const struct sink_format api_format = {
	.formats = FORMAT_BIT(API),
	.state_bytes = sizeof(struct files *),
	.open = open_api,
	.kind = record_kind_value,
	.scalar = record_scalar_value,
};

/* ---- readers ---- */

static unsigned find_op(const char *op)
{
	for (unsigned i = 1; i < TRAIN_OPS_END; i++)
		if (strcmp(train_op_words[i], op) == 0)
			return i;
	return strcmp(op, "value") ? TO_NONE : VALUE_OP;
}

int stats_store_get(
	const char *kind, const char *name, const char *op, int64_t *step, double *value)
{
	unsigned which = find_op(op);
	const struct stored *s = NULL;
	int err = -ENOENT;

	pthread_mutex_lock(&lock);
	if (store && store->nplace && which != TO_NONE) {
		const uint32_t *place = find_stored_place(kind, name);

		s = *place ? get_stored(*place - 1) : NULL;
	}
	if (s && s->scalar == (which == VALUE_OP)) {
		*step = s->step;
		*value = s->value[s->scalar ? 0 : which];
		err = 0;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int stats_store_get_next(uint64_t *at, const char **kind, const char **name, const char **op,
	int64_t *step, double *value)
{
	int found = 0;

	pthread_mutex_lock(&lock);
	while (!found && store && *at / TRAIN_OPS_END < store->n) {
		const struct stored *s = get_stored((uint32_t)(*at / TRAIN_OPS_END));
		unsigned which = (unsigned)(*at % TRAIN_OPS_END);

		++*at;
		/* A scalar has only the first value; statistics have all others. */
		if (s->scalar != (which == 0))
			continue;
		*kind = s->kind;
		*name = s->name;
		*op = s->scalar ? "value" : train_op_words[which];
		*step = s->step;
		*value = s->value[which];
		found = 1;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

void stats_store_forked(void)
{
	pthread_mutex_init(&lock, NULL);
	if (store)
		store = NULL;
}
