/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/dump/dump_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct thread_place {
	uint32_t tid, now;
};

struct dump_modules {
	struct dump_module_call *call;
	uint32_t n, cap;
	struct thread_place *thread;
	uint32_t nthread, cap_thread;
	struct dump_module_gradient *gradient;
	uint32_t ngradient, cap_gradient;
};

struct dump_modules *dump_modules_open(void)
{
	return calloc(1, sizeof(struct dump_modules));
}

void dump_modules_free(struct dump_modules *m)
{
	if (!m)
		return;
	free(m->call);
	free(m->thread);
	free(m->gradient);
	free(m);
}

/* Makes space for one more item after n. Returns false if there is no memory. */
static bool add_item_space(void *at, uint32_t n, uint32_t *cap, size_t size)
{
	uint32_t want = *cap ? *cap * 2 : 64;
	void *more, *old;

	if (n < *cap)
		return true;
	memcpy(&old, at, sizeof(old));
	more = realloc(old, want * size);
	if (!more)
		return false;
	memcpy(at, &more, sizeof(more));
	*cap = want;
	return true;
}

static struct thread_place *find_thread_place(const struct dump_modules *m, uint32_t tid)
{
	for (uint32_t i = 0; i < m->nthread; i++)
		if (m->thread[i].tid == tid)
			return &m->thread[i];
	return NULL;
}

uint32_t dump_modules_open_call(struct dump_modules *m, const struct journal_call *c)
{
	struct thread_place *t = find_thread_place(m, c->tid);

	if (!t) {
		if (!add_item_space(&m->thread, m->nthread, &m->cap_thread, sizeof(*m->thread)))
			return 0;
		t = &m->thread[m->nthread++];
		t->tid = c->tid;
	}
	if (!add_item_space(&m->call, m->n, &m->cap, sizeof(*m->call)))
		return 0;
	m->call[m->n] = (struct dump_module_call){.seq = c->seq,
		.tid = c->tid,
		.outer = c->parent ? dump_modules_find(m, c->parent) : 0};
	t->now = ++m->n;
	return t->now;
}

void dump_modules_close_call(struct dump_modules *m, uint64_t seq)
{
	uint32_t at = dump_modules_find(m, seq);
	struct thread_place *t = at ? find_thread_place(m, m->call[at - 1].tid) : NULL;

	if (t)
		t->now = m->call[at - 1].outer;
}

uint32_t dump_modules_get_current(const struct dump_modules *m, uint32_t tid)
{
	const struct thread_place *t = find_thread_place(m, tid);

	return t ? t->now : 0;
}

/* The module calls are sorted by number. */
uint32_t dump_modules_find(const struct dump_modules *m, uint64_t seq)
{
	uint32_t lo = 0, hi = m->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (m->call[mid].seq < seq)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n && m->call[lo].seq == seq ? lo + 1 : 0;
}

struct dump_module_call *dump_modules_get(struct dump_modules *m, uint32_t number)
{
	return number ? &m->call[number - 1] : NULL;
}

enum module_part dump_get_module_part(const struct staged_call *c)
{
	unsigned i = 0;

	if (strcmp(c->lib, MODULE_LIBRARY) != 0)
		return MODULE_PARTS;
	while (i < MODULE_PARTS && strcmp(module_part_words[i], c->symbol) != 0)
		i++;
	return i;
}

int dump_modules_add_gradient(struct dump_modules *m, const struct dump_module_gradient *g)
{
	if (!add_item_space(&m->gradient, m->ngradient, &m->cap_gradient, sizeof(*g)))
		return -ENOMEM;
	m->gradient[m->ngradient++] = *g;
	return 0;
}

static int check_gradient_order(const void *x, const void *y)
{
	const struct dump_module_gradient *a = x, *b = y;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->ref < b->ref ? -1 : a->ref > b->ref;
}

const struct dump_module_gradient *dump_modules_get_gradients(struct dump_modules *m, uint32_t *n)
{
	*n = m->ngradient;
	if (*n)
		qsort(m->gradient, *n, sizeof(*m->gradient), check_gradient_order);
	return m->gradient;
}
