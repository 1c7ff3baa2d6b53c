/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stub.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/call.h"
#include "entry/elf_file.h"
#include "entry/elfsym.h"
#include "entry/ffi.h"
#include "entry/real.h"
#include "entry/runtime.h"
#include "entry/stub_elf.h"
#include "entry/tail.h"
#include "session.h"

struct known_target {
	struct stub_target target;
	struct known_target *next;
};

/* A stub that was called at least once, or asked for by `probe check`. Never freed. */
struct stub_row {
	struct stub_row *next;
	uint64_t hash; /* of the name */
	const char *name; /* in the stub object, which is never unloaded */
	_Atomic(struct stub_entry *) entry; /* NULL: not called yet */
	struct api *api;
	_Atomic(struct known_target *) targets;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct stub_row *) rows;

struct tail stub_first(uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3,
	const struct stub_target *first, uintptr_t pc);

/* ---- the lock ---- */

static void child(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void take(void)
{
	static atomic_bool hooked;

	if (!atomic_exchange(&hooked, true))
		pthread_atfork(NULL, NULL, child);
	pthread_mutex_lock(&lock);
}

static void give(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- rows ---- */

static struct stub_row *find(const char *name)
{
	uint64_t h = hash_str(0, name);

	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (r->hash == h && strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

/* The row of a stub, made now if need be. name must last. NULL: nobody wants the function (any more), or no memory. */
static struct stub_row *row_of(const char *name)
{
	struct stub_row *r = find(name);
	struct provider p;

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->api = runtime_make(name, elfsym_after_us(name, &p, 1) ? p.path : "");
	if (!r->api) {
		free(r);
		return NULL;
	}
	r->hash = hash_str(0, name);
	r->name = name;
	r->next = atomic_load(&rows);
	atomic_store(&rows, r);
	return r;
}

/* ---- the first call ---- */

/* A target of a row: made once for each place that its stub ever leads to, for libraries come and go. */
static const struct stub_target *target_of(struct stub_row *r, void *code, void *context)
{
	struct known_target *head = atomic_load(&r->targets), *t;

	for (t = head; t; t = t->next)
		if (t->target.code == code && t->target.context == context)
			return &t->target;
	t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = (struct known_target){{code, context}, head};
	while (!atomic_compare_exchange_weak(&r->targets, &t->next, t))
		;
	return &t->target;
}

/* Makes the stub lead there from now on, if it leads nowhere yet. Without memory only this call goes there. */
static struct tail lead(struct stub_row *r, struct stub_entry *e, void *code, void *context)
{
	const struct stub_target *was = &e->first, *t = target_of(r, code, context);

	if (t)
		atomic_compare_exchange_strong(&e->target, &was, t);
	return (struct tail){code, context};
}

/* Nothing is recorded, nothing is kept: just the function. */
static struct tail straight(const char *name, uintptr_t pc)
{
	static const struct lib none;
	const struct api_spec spec = {.symbol = name, .lib = &none};
	bool several;

	return (struct tail){.target = real_find(&spec, pc, &several)};
}

/* The next call goes to stub_first() again. Targets are never freed: a thread may be on its way through one. */
static void reset(struct stub_row *r)
{
	struct stub_entry *e = atomic_load(&r->entry);

	if (e)
		atomic_store_explicit(&e->target, &e->first, memory_order_release);
}

/* Straight to the real function, as long as that is the only one and stays where it is. */
static struct tail lead_straight(struct stub_row *r, struct stub_entry *e)
{
	void *real = call_real(r->api);

	lead(r, e, real, NULL);
	/* stub_second() and stub_forget() change the state first. */
	if (atomic_load(&r->api->state) != API_SKIP)
		reset(r);
	return (struct tail){real, NULL};
}

/* Without the lock: looking for the real function may ask the loader, and all of this can be done twice. */
static struct tail choose(struct stub_entry *e, uintptr_t pc)
{
	const char *name = stub_entry_name(e);
	struct stub_row *r;
	uint32_t state;
	void *code, *context;
	int err;

	take();
	r = row_of(name);
	give();
	if (!r)
		return straight(name, pc);
	atomic_store(&r->entry, e);
	state = atomic_load_explicit(&r->api->state, memory_order_acquire);
	if (state == API_NEW)
		state = call_first_use(r->api, pc);
	if (state == API_GONE) {
		log_loss(LOSS_REAL,
			"%s: no loaded library defines it (any more); the call returned 0", name);
		return (struct tail){NULL, NULL};
	}
	if (state == API_SKIP)
		return lead_straight(r, e);
	err = ffi_entry(r->api, &code, &context);
	if (!err)
		return lead(r, e, code, context);
	log_loss(LOSS_ENTRY, "%s: libffi cannot call it: %s; it is not recorded",
		r->api->spec->symbol, strerror(-err));
	return straight(name, pc);
}

/* From stub_entry.S: a stub was called that has no target yet. first: what it then leads to, inside of its entry. */
__attribute__((visibility("hidden"))) struct tail stub_first(uintptr_t a0, uintptr_t a1,
	uintptr_t a2, uintptr_t a3, const struct stub_target *first, uintptr_t pc)
{
	struct stub_entry *e = (void *)((uintptr_t)first - offsetof(struct stub_entry, first));
	struct thread_word *w = &thread_word;
	int err = errno, cancel;
	struct tail out;

	(void)a0;
	(void)a1;
	(void)a2;
	(void)a3;
	/* From inside libprobe, or from a signal handler that interrupted it: the lock may be ours. */
	if (w->busy)
		return straight(stub_entry_name(e), pc);
	w->busy++;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	out = choose(e, pc);
	pthread_setcancelstate(cancel, NULL);
	w->busy--;
	errno = err;
	return out;
}

/* ---- what changes later ---- */

void stub_second(const char *name)
{
	struct stub_row *r = find(name);

	if (!r || atomic_load(&r->api->state) == API_MULTI)
		return;
	atomic_store_explicit(&r->api->state, API_MULTI, memory_order_release);
	reset(r);
}

static bool in_use(const struct stub_row *r)
{
	uint32_t state = atomic_load(&r->api->state);

	return state == API_ON || state == API_SKIP;
}

bool stub_any_in_use(void)
{
	struct stub_row *r = atomic_load(&rows);

	while (r && !in_use(r))
		r = r->next;
	return r;
}

void stub_second_copies(const struct elf_file *f)
{
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (in_use(r) && elf_file_defines(f, r->name))
			stub_second(r->name);
}

void stub_watch(struct api *a, bool watch)
{
	uint32_t was = watch ? API_SKIP : API_ON;

	if (!atomic_compare_exchange_strong(&a->state, &was, watch ? API_ON : API_SKIP))
		return;
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (r->api == a)
			reset(r);
}

void stub_forget(void)
{
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next) {
		atomic_store_explicit(&r->api->state, API_NEW, memory_order_release);
		reset(r);
	}
}

struct each {
	void (*visit)(struct api *a, void *arg);
	void *arg;
};

static void make_row(const char *name, void *arg)
{
	(void)arg;
	row_of(name);
}

void stub_each(void (*visit)(struct api *a, void *arg), void *arg)
{
	take();
	elfsym_each_stub(make_row, NULL);
	give();
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		visit(r->api, arg);
}
