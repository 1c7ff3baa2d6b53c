/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The adapter of libraries without a compiled adapter: the user's file gives the meaning of their
 * handles. Rank and size of a communicator are queried once, with the functions named in the
 * file.
 */
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "call/call.h"
#include "call/comm.h"
#include "entry/user/user_functions.h"
#include "elf/loaded/elfsym.h"
#include "journal/layout.h"
#include "session/state.h"
#include "elf/loaded/modules.h"

#define SONAMES_MAX 8

static struct custom_lib {
	struct adapter lib;
	const struct spec *spec;
	const char *sonames[SONAMES_MAX + 1];
	/* The functions of spec->rank and spec->size, once found. */
	_Atomic(void *) rank, size;
	_Atomic uint64_t looked; /* 1 + modules_get_generation() at the last search */
	_Atomic bool unknown_said;
} libs[CUSTOM_LIBS_MAX];

/* ---- values of enums ---- */

static const struct spec_value *value_of_handle(const struct value_map *m, uint64_t handle)
{
	for (unsigned i = 0; i < m->n; i++)
		if ((uint64_t)m->row[i].value == handle)
			return &m->row[i];
	return NULL;
}

static void get_dtype_at(struct custom_lib *c, uint64_t handle, struct dtype_desc *d)
{
	const struct spec_value *v = value_of_handle(&c->spec->dtype, handle);

	*d = (struct dtype_desc){.dtype = DT_OTHER};
	if (v) {
		set_plain_dtype(d, v->to);
	} else if (!atomic_exchange_explicit(&c->unknown_said, true, memory_order_relaxed)) {
		log_loss(LOSS_CONFIG,
			"%s: dtype has no value %lld; such buffers are recorded without size and "
			"statistics; add it there",
			c->spec->path, (long long)handle);
	}
}

static enum redop get_redop_at(const struct custom_lib *c, uint64_t handle)
{
	const struct spec_value *v = value_of_handle(&c->spec->redop, handle);

	return v ? (enum redop)v->to : REDOP_NONE;
}

/* ---- communicators ---- */

static void *find_query(_Atomic(void *) *cached, const char *name)
{
	struct provider p;
	void *f = atomic_load_explicit(cached, memory_order_relaxed);

	if (f || !elfsym_find_all(name, &p, 1))
		return f;
	f = p.ifunc ? ((void *(*)(void))p.addr)() : p.addr;
	atomic_store_explicit(cached, f, memory_order_relaxed);
	return f;
}

/*
 * True if both functions were found. If not, they are searched again when other objects are
 * loaded.
 */
static bool find_queries(struct custom_lib *c)
{
	const struct spec *s = c->spec;
	uint64_t now = modules_get_generation() + 1;
	bool both;

	if (atomic_load_explicit(&c->looked, memory_order_relaxed) == now)
		return false;
	both = find_query(&c->rank, s->rank.function) && find_query(&c->size, s->size.function);
	if (both)
		return true;
	atomic_store_explicit(&c->looked, now, memory_order_relaxed);
	log_loss(LOSS_COMMS,
		"%s: no loaded library has the function %s: calls are recorded without "
		"communicator and without buffers that depend on it",
		s->path, c->rank ? s->size.function : s->rank.function);
	return false;
}

/*
 * Sets the communicator's id. Without communication only two things are known to be equal on all
 * ranks: the name of the only communicator, and that a communicator in which every process has
 * its job rank contains the whole job.
 */
static void set_custom_comm_id(const struct custom_lib *c, struct comm *m, bool world)
{
	uint64_t tag = hash_str(0, c->spec->rank.function ? c->spec->rank.function : "");

	if (world) {
		m->kind = "world";
		m->flags = c->lib.one_comm ? 0 : CF_GUESSED;
		m->id = comm_compute_id(0, "custom", (int64_t)tag, m->world, m->nworld, NULL, 0);
	} else if (c->lib.one_comm) {
		m->kind = "custom";
		m->id = comm_compute_id(
			0, "custom", (int64_t)hash_u64(tag, (uint32_t)m->size), NULL, 0, NULL, 0);
	} else {
		m->kind = "custom";
		m->flags = CF_LOCALCOMM;
		tag = hash_u64(hash_u64(tag, m->handle), comm_get_serial());
		tag = hash_u64(hash_u64(tag, (uint64_t)getpid()), (uint32_t)session.world_rank);
		m->id = comm_compute_id(0, "custom", (int64_t)tag, NULL, 0, NULL, 0);
	}
}

/*
 * Returns NULL if the library gives no valid answer (it may not be ready yet), or if there is no
 * memory.
 */
static struct comm *add_custom_comm(struct custom_lib *c, uint64_t handle)
{
	const struct spec *s = c->spec;
	int64_t rank = JOURNAL_NONE, size = JOURNAL_NONE, code;
	bool known = s->rank.function != NULL, world;
	struct comm *m;

	if (known) {
		if (!find_queries(c))
			return NULL;
		rank = query_read_number(&s->rank, c->rank, handle, &code);
		size = query_read_number(&s->size, c->size, handle, &code);
		if (size <= 0 || size > INT32_MAX || rank < 0 || rank >= size)
			return NULL;
	}
	world = known && size == session.world_size && rank == session.world_rank;
	m = comm_alloc(world ? (uint32_t)size : 0);
	if (!m)
		return NULL;
	for (int32_t i = 0; world && i < (int32_t)size; i++)
		m->world[i] = i;
	m->lib = &c->lib;
	m->handle = handle;
	m->rank = (int32_t)rank;
	m->size = (int32_t)size;
	set_custom_comm_id(c, m, world);
	return m;
}

static struct comm *find_or_add_custom_comm(struct custom_lib *c, uint64_t handle)
{
	static _Atomic bool publishing;
	struct comm *m = comm_find(&c->lib, handle), *first;
	bool free = false;

	if (m)
		return m;
	m = add_custom_comm(c, handle);
	if (!m)
		return NULL;
	/*
	 * Two threads may arrive with the same handle. The second one does not wait: its call has
	 * no communicator.
	 */
	if (!atomic_compare_exchange_strong(&publishing, &free, true)) {
		comm_remove_user(m);
		return NULL;
	}
	first = comm_find(&c->lib, handle);
	if (first)
		comm_remove_user(m);
	else
		comm_register(m);
	m = comm_find(&c->lib, handle);
	atomic_store(&publishing, false);
	return m;
}

static uint64_t read_handle_at(const struct api_arg *a, const void *p)
{
	int32_t narrow;
	uint64_t wide;

	if (a->elem_bytes == 4) {
		memcpy(&narrow, p, sizeof(narrow));
		return (uint64_t)(int64_t)narrow;
	}
	memcpy(&wide, p, sizeof(wide));
	return wide;
}

/*
 * Reads the handle of the communicator that a pointer argument points to, or that an argument is.
 * Returns false if there is none.
 */
static bool handle_of(const struct call *c, enum role pointer, enum role value, uint64_t *handle)
{
	const struct api_spec *s = c->api->spec;
	int at = s->at[pointer] - 1;

	if (at >= 0 && c->v[at].cp)
		*handle = read_handle_at(&s->args[at], c->v[at].cp);
	else if (value != ROLE_NONE && s->at[value])
		*handle = c->v[s->at[value] - 1].u;
	else
		return false;
	return true;
}

static void handle_custom_begin(struct call *c)
{
	uint64_t handle;

	if (c->api->spec->task == TASK_COMM_END && handle_of(c, ROLE_COMMP, ROLE_COMM, &handle))
		call_set_ending_comm(c, c->api->spec->lib, handle);
}

/* A new communicator may have the handle of an old one whose end was not seen. */
static void handle_custom_return(struct call *c, int64_t ret)
{
	uint64_t handle;

	(void)ret;
	if (c->api->spec->task == TASK_COMM_NEW && c->ok &&
		handle_of(c, ROLE_NEWCOMM, ROLE_NONE, &handle))
		comm_remove(c->api->spec->lib, handle);
}

/* ---- one set of functions per document, because the core does not pass them the library ---- */

#define ADAPTER(n)                                                   \
	static struct comm *comm_##n(uint64_t handle)                \
	{                                                            \
		return find_or_add_custom_comm(&libs[n], handle);    \
	}                                                            \
	static void dtype_##n(uint64_t handle, struct dtype_desc *d) \
	{                                                            \
		get_dtype_at(&libs[n], handle, d);                   \
	}                                                            \
	static enum redop redop_##n(uint64_t handle)                 \
	{                                                            \
		return get_redop_at(&libs[n], handle);               \
	}

#define FUNCTIONS(n)                           \
	{                                      \
		comm_##n, dtype_##n, redop_##n \
	}

ADAPTER(0)
ADAPTER(1)
ADAPTER(2)
ADAPTER(3)
ADAPTER(4)
ADAPTER(5)
ADAPTER(6)
ADAPTER(7)

static const struct {
	struct comm *(*comm)(uint64_t);
	void (*dtype)(uint64_t, struct dtype_desc *);
	enum redop (*redop)(uint64_t);
} functions[CUSTOM_LIBS_MAX] = {FUNCTIONS(0), FUNCTIONS(1), FUNCTIONS(2), FUNCTIONS(3),
	FUNCTIONS(4), FUNCTIONS(5), FUNCTIONS(6), FUNCTIONS(7)};

const struct adapter *custom_lib_new(const struct spec *s)
{
	static unsigned n;
	struct custom_lib *c;

	if (n == CUSTOM_LIBS_MAX)
		return NULL;
	c = &libs[n];
	c->spec = s;
	for (unsigned i = 0; s->sonames && i < s->sonames->n && i < SONAMES_MAX; i++)
		c->sonames[i] = s->sonames->item[i]->text;
	c->lib = (struct adapter){
		.name = "custom",
		.sonames = c->sonames,
		.nsuccess = (uint8_t)s->nsuccess,
		.missing = s->missing,
		.alias_prefix = *s->twin ? s->twin : NULL,
		.unsure = true,
		.one_comm = s->rank.function && !s->rank.comm,
		.comm = functions[n].comm,
		.dtype = functions[n].dtype,
		.redop = functions[n].redop,
		.enter = handle_custom_begin,
		.leave = handle_custom_return,
	};
	memcpy(c->lib.success, s->success, sizeof(c->lib.success));
	n++;
	return &c->lib;
}
