/* SPDX-License-Identifier: Apache-2.0 */
#include "training/params/param.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/record.h"
#include "call/recorder.h"
#include "call/step.h"
#include "session/state.h"
#include "training/params/place.h"

/* A table and its indexes, in one mapping, followed by texts and dims. */
struct param_table {
	struct train_params params;
	const uint32_t *by_impl; /* hash table, open addressing: id; 0: empty */
	uint32_t mask;
	const uint32_t *by_lo; /* ids sorted by .lo */
	uint32_t nlo;
	const uint32_t *by_grad; /* ids sorted by .grad_lo */
	uint32_t ngrad;
};

static _Atomic(const struct param_table *) table_now;
static uint32_t tables_made;
/*
 * Not reset in a forked child: other modules have data that belongs to the parent's tables, by
 * generation.
 */
static uint32_t generations;

const struct train_params *train_get_params(void)
{
	const struct param_table *t = atomic_load_explicit(&table_now, memory_order_acquire);

	return t ? &t->params : NULL;
}

static const struct param_table *get_param_table(const struct train_params *p)
{
	return (const struct param_table *)((const char *)p - offsetof(struct param_table, params));
}

static bool has_handle(const struct train_param *p, const void *impl)
{
	return p->impl == impl || p->outer == impl || p->alias == impl;
}

const struct train_param *train_find_param_by_impl(const struct train_params *p, const void *impl)
{
	const struct param_table *t;

	if (!p || !impl)
		return NULL;
	t = get_param_table(p);
	for (uint32_t i = (uint32_t)hash_mix((uintptr_t)impl) & t->mask; t->by_impl[i];
		i = (i + 1) & t->mask)
		if (has_handle(&p->at[t->by_impl[i] - 1], impl))
			return &p->at[t->by_impl[i] - 1];
	return NULL;
}

const struct train_param *train_find_param_by_address(
	const struct train_params *p, const void *address)
{
	const struct param_table *t;
	uintptr_t a = (uintptr_t)address;
	uint32_t lo = 0, hi;

	if (!p || !a)
		return NULL;
	t = get_param_table(p);
	for (hi = t->nlo; lo < hi;) {
		uint32_t mid = (lo + hi) / 2;

		if (p->at[t->by_lo[mid] - 1].lo <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || p->at[t->by_lo[lo - 1] - 1].hi <= a)
		return NULL;
	return &p->at[t->by_lo[lo - 1] - 1];
}

void train_handle_params_kept_in(
	const struct train_params *p, uintptr_t lo, uintptr_t hi, train_param_fn *fn, void *arg)
{
	const struct param_table *t = p ? get_param_table(p) : NULL;
	uint32_t from = 0, to;

	if (!t || !t->ngrad)
		return;
	for (to = t->ngrad; from < to;) {
		uint32_t mid = (from + to) / 2;

		if (p->at[t->by_grad[mid] - 1].grad_lo < lo)
			from = mid + 1;
		else
			to = mid;
	}
	for (; from < t->ngrad && p->at[t->by_grad[from] - 1].grad_lo < hi; from++)
		fn(arg, p, &p->at[t->by_grad[from] - 1]);
}

/* ---- making a table ---- */

static size_t bounded_length(const char *s)
{
	return strnlen(s, TRAIN_NAME_MAX);
}

static const struct train_params *params_of_cmp;

static int compare_lo(const void *a, const void *b)
{
	uintptr_t x = params_of_cmp->at[*(const uint32_t *)a - 1].lo,
		  y = params_of_cmp->at[*(const uint32_t *)b - 1].lo;

	return x < y ? -1 : x > y;
}

static int compare_grad(const void *a, const void *b)
{
	uintptr_t x = params_of_cmp->at[*(const uint32_t *)a - 1].grad_lo,
		  y = params_of_cmp->at[*(const uint32_t *)b - 1].grad_lo;

	return x < y ? -1 : x > y;
}

static const uint64_t *copy_dims(uint64_t **to, const uint64_t *dims, unsigned n)
{
	const uint64_t *at = *to;

	if (n)
		memcpy(*to, dims, 8 * (size_t)n);
	*to += n;
	return at;
}

static char *copy_text(char **to, const char *s)
{
	size_t n = bounded_length(s);
	char *at = *to;

	memcpy(at, s, n);
	at[n] = 0;
	*to += n + 1;
	return at;
}

static void add_handle_index(uint32_t *slot, uint32_t mask, const void *handle, uint32_t id)
{
	uint32_t i = (uint32_t)hash_mix((uintptr_t)handle) & mask;

	if (!handle)
		return;
	while (slot[i])
		i = (i + 1) & mask;
	slot[i] = id;
}

static struct param_table *add_param_table(const struct train_param *list, uint32_t n)
{
	uint32_t slots = 16;
	size_t texts = 0, dims = 0, bytes;
	struct param_table *t;
	struct train_param *at;
	uint32_t *by_impl, *by_lo, *by_grad;
	uint64_t *dim;
	char *text;

	/* Each parameter has at most three handles. */
	while (slots < 6 * n)
		slots *= 2;
	for (uint32_t i = 0; i < n; i++) {
		texts += bounded_length(list[i].name) + bounded_length(list[i].module) + 2;
		dims += (size_t)list[i].ndim + list[i].whole_ndim;
	}
	bytes = sizeof(*t) + n * sizeof(*at) + 8 * dims + 4 * (size_t)slots + 8 * (size_t)n + texts;
	t = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t == MAP_FAILED)
		return NULL;
	at = (struct train_param *)(t + 1);
	dim = (uint64_t *)(at + n);
	by_impl = (uint32_t *)(dim + dims);
	by_lo = by_impl + slots;
	by_grad = by_lo + n;
	text = (char *)(by_grad + n);
	t->params.n = n;
	t->params.at = at;
	t->by_impl = by_impl;
	t->mask = slots - 1;
	t->by_lo = by_lo;
	t->by_grad = by_grad;
	for (uint32_t i = 0; i < n; i++) {
		struct train_param *p = &at[list[i].id - 1];

		*p = list[i];
		p->name = copy_text(&text, list[i].name);
		p->module = copy_text(&text, list[i].module);
		p->dims = copy_dims(&dim, list[i].dims, p->ndim);
		p->whole_dims = copy_dims(&dim, list[i].whole_dims, p->whole_ndim);
	}
	/*
	 * The newest parameter is inserted first: the handle of a freed one may have been reused
	 * for it.
	 */
	for (uint32_t id = n; id; id--) {
		if (at[id - 1].lo < at[id - 1].hi)
			by_lo[t->nlo++] = id;
		if (at[id - 1].grad_lo)
			by_grad[t->ngrad++] = id;
		add_handle_index(by_impl, t->mask, at[id - 1].impl, id);
		add_handle_index(by_impl, t->mask, at[id - 1].outer, id);
		add_handle_index(by_impl, t->mask, at[id - 1].alias, id);
	}
	params_of_cmp = &t->params;
	qsort(by_lo, t->nlo, sizeof(*by_lo), compare_lo);
	qsort(by_grad, t->ngrad, sizeof(*by_grad), compare_grad);
	return t;
}

/* ---- to the journal ---- */

bool train_write_name(const struct journal_name *e, const uint64_t *dims, const char *name,
	const char *module, const char *type)
{
	struct thread *t = session_is_on() ? thread_get() : NULL;
	const char *part[3] = {name, module, type};
	uint32_t n[3], bytes = (uint32_t)sizeof(*e) + 8u * e->e.n;
	struct journal_name *to;
	char *text;

	for (int i = 0; i < 3; i++) {
		n[i] = (uint32_t)strnlen(part[i], TRAIN_NAME_MAX + 8);
		bytes += n[i] + 1;
	}
	bytes = (bytes + 7) & ~7u;
	to = t ? thread_reserve(t, bytes) : NULL;
	if (!to)
		return false;
	memset(to, 0, bytes);
	*to = *e;
	to->e.type = JE_NAME;
	to->e.bytes = bytes;
	to->step = step_now();
	if (e->e.n)
		memcpy(to + 1, dims, 8 * (size_t)e->e.n);
	text = (char *)(to + 1) + 8 * (size_t)e->e.n;
	for (int i = 0; i < 3; i++) {
		memcpy(text, part[i], n[i]);
		text += n[i] + 1;
	}
	chain_publish(&t->chain, bytes);
	return true;
}

static bool write_param_record(const struct train_param *p)
{
	struct journal_name e = {.what = JN_PARAM,
		.id = p->id,
		.optimizer = p->optimizer,
		.group = p->group,
		.vpp_stage = p->vpp_stage,
		.dtype = p->dtype,
		.flags = p->flags};

	e.e.n = p->ndim;
	return train_write_name(&e, p->dims, p->name, p->module, "");
}

void train_write_modules(const struct train_module *list, uint32_t n)
{
	struct journal_name e = {.what = JN_MODULE};
	uint32_t lost = 0;

	for (uint32_t i = 0; i < n; i++) {
		e.id = i + 1;
		e.vpp_stage = list[i].vpp_stage;
		lost += !train_write_name(&e, NULL, list[i].name, "", list[i].type);
	}
	e = (struct journal_name){.what = JN_STRUCT};
	lost += !train_write_name(&e, NULL, "", "", "");
	if (lost)
		log_loss(LOSS_ENTRY, "module_struct.json is not complete: the journal is full");
}

/* True if a value differs that the row in names.csv shows. */
static bool has_changed(const struct train_param *was, const struct train_param *is)
{
	return was->optimizer != is->optimizer || was->group != is->group ||
	       was->flags != is->flags || strcmp(was->name, is->name) != 0;
}

int train_register_params(struct train_param *list, uint32_t n, const char *why)
{
	const struct param_table *old = atomic_load_explicit(&table_now, memory_order_acquire);
	uint32_t known = old ? old->params.n : 0, next = known, lost = 0;
	struct param_table *t;

	if (n > TRAIN_PARAMS_MAX || tables_made == TRAIN_TABLES)
		return -ENOSPC;
	for (uint32_t i = 0; i < n; i++)
		if (!list[i].id)
			list[i].id = ++next;
	if (next != n)
		return -EINVAL; /* a parameter of an earlier table is missing */
	t = add_param_table(list, n);
	if (!t)
		return -ENOMEM;
	t->params.generation = ++generations;
	tables_made++;
	for (uint32_t id = 1; id <= n; id++)
		if (id > known || has_changed(&old->params.at[id - 1], &t->params.at[id - 1]))
			lost += !write_param_record(&t->params.at[id - 1]);
	atomic_store_explicit(&table_now, t, memory_order_release);
	tensor_namer = train_find_buffer_name;
	tensor_bad = train_find_bad;
	log_info(2, "names of %u parameters (%s), %u of them new", n, why, n - known);
	if (lost)
		log_loss(LOSS_ENTRY,
			"names of %u parameters are not recorded: the journal is full or off",
			lost);
	return (int)(n - known);
}

void train_params_forked(void)
{
	/* The child inherits the parent's table, but its own folder has no names yet. */
	atomic_store(&table_now, NULL);
	tensor_namer = NULL;
	tensor_bad = NULL;
	tables_made = 0;
}
