/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/stub.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/enabled.h"
#include "base/hash.h"
#include "base/private_stack.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/call.h"
#include "call/step.h"
#include "elf/elf_file.h"
#include "elf/loaded/elfsym.h"
#include "entry/stubs/ffi.h"
#include "resolve/real.h"
#include "entry/stubs/provider.h"
#include "entry/stubs/stub_elf.h"
#include "entry/stubs/hook_jump.h"
#include "session/profiled.h"
#include "session/state.h"

struct known_target {
	struct stub_target target;
	struct known_target *next;
};

/*
 * The row of a stub that was called at least once, or listed for `probe check`. Never freed. api
 * is NULL if nothing is recorded any more (as in a forked child): the row exists so that its stub
 * leads straight to the real function.
 */
struct stub_row {
	struct stub_row *next;
	uint64_t hash; /* hash of the name */
	const char *name; /* text in the stub object, which is never unloaded */
	_Atomic(struct stub_entry *) entry; /* NULL: the stub was not called yet */
	struct api *api;
	_Atomic(struct known_target *) targets;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct stub_row *) rows;

struct tail stub_first(uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3,
	const struct stub_target *first, uintptr_t pc);

/* ---- the lock ---- */

static void reinit_stub_lock(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void lock_stubs(void)
{
	static atomic_bool hooked;

	if (!atomic_exchange(&hooked, true))
		pthread_atfork(NULL, NULL, reinit_stub_lock);
	pthread_mutex_lock(&lock);
}

static void unlock_stubs(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- rows ---- */

static struct stub_row *find_stub_row(const char *name)
{
	uint64_t h = hash_str(0, name);

	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (r->hash == h && strcmp(r->name, name) == 0)
			return r;
	return NULL;
}

/*
 * Returns the row of a stub, made now if necessary. name must stay valid. Returns NULL if the
 * function is not wanted, or there is no memory.
 */
static struct stub_row *row_of(const char *name)
{
	struct stub_row *r = find_stub_row(name);
	struct provider p;

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->api = runtime_make(name, elfsym_find_after_us(name, &p, 1) ? p.path : "");
	if (!r->api && !session_is_settled()) {
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

/*
 * Returns a target of a row, made once for each address to which its stub ever leads; there may
 * be several, because libraries are loaded and unloaded.
 */
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

/*
 * Makes the stub jump to `code` from now on, if it has no target yet. Without memory, only this
 * call does.
 */
static struct tail redirect_stub(
	struct stub_row *r, struct stub_entry *e, void *code, void *context)
{
	const struct stub_target *was = &e->first, *t = target_of(r, code, context);

	if (t)
		atomic_compare_exchange_strong(&e->target, &was, t);
	return (struct tail){code, context};
}

/* Returns the function; nothing is recorded or kept. */
static struct tail find_real_target(const char *name, uintptr_t pc)
{
	static const struct adapter none;
	const struct api_spec spec = {.symbol = name, .lib = &none};
	bool several;

	return (struct tail){.target = real_find(&spec, pc, &several)};
}

/*
 * Makes the next call go to stub_first() again. Targets are never freed: a thread may be about to
 * use one.
 */
static void reset_stub(struct stub_row *r)
{
	struct stub_entry *e = atomic_load(&r->entry);

	if (e)
		atomic_store_explicit(&e->target, &e->first, memory_order_release);
}

/* For a row without api: looks the function up once, unless there are several copies. */
static struct tail redirect_unrecorded(struct stub_row *r, struct stub_entry *e, uintptr_t pc)
{
	static const struct adapter none;
	const struct api_spec spec = {.symbol = r->name, .lib = &none};
	uint32_t loads = real_get_loads();
	bool several = false;
	void *real = real_find(&spec, pc, &several);

	atomic_store(&r->entry, e);
	if (!real || several || !real_settled(loads))
		return (struct tail){.target = real};
	redirect_stub(r, e, real, NULL);
	/*
	 * A library that was loaded meanwhile may not have found the stub's target: the next call
	 * decides again.
	 */
	if (!real_settled(loads))
		reset_stub(r);
	return (struct tail){.target = real};
}

/*
 * Makes the stub lead straight to the real function, as long as this is the only one and stays
 * loaded.
 */
static struct tail redirect_to_real(struct stub_row *r, struct stub_entry *e)
{
	void *real = call_get_real(r->api);

	redirect_stub(r, e, real, NULL);
	/* stub_second() and stub_forget() change the row's state before the stub. */
	if (!(get_api_word(r->api) & API_SKIP))
		reset_stub(r);
	return (struct tail){real, NULL};
}

/* True if no call makes a row of output at present. */
static bool are_rows_unwanted(void)
{
	return get_generation()->paused || !step_profiled() ||
	       (session.world_rank >= 0 && !session_rank_profiled());
}

/* True if calls of the function need nothing except rows of output. */
static bool may_rest(const struct api *a)
{
	const struct adapter *lib = a->spec->lib;

	return lib->idle && (get_api_word(a) & API_DECIDED & ~(uint32_t)API_HOOKED) == API_LISTED &&
	       lib->idle(a);
}

/*
 * Returns the row's word. The stub may then bypass libprobe, unless a thread in
 * stub_rest_unwanted() has changed that meanwhile.
 */
static uint32_t rest_row(struct api *a)
{
	if (are_rows_unwanted() && may_rest(a) && set_api_state(a, API_ON, API_SKIP) &&
		!are_rows_unwanted())
		set_api_state(a, API_SKIP, API_ON);
	return get_api_word(a);
}

/*
 * Runs without the lock, because the search for the real function may call the loader. All of
 * this can be done twice.
 */
static struct tail choose_target(struct stub_entry *e, uintptr_t pc)
{
	const char *name = stub_entry_name(e);
	struct stub_row *r;
	uint32_t word;
	void *code, *context;
	int err;

	/* Recording is switched off temporarily: nothing permanent is decided. */
	if (!recording_enabled() && !session_is_settled())
		return find_real_target(name, pc);
	lock_stubs();
	r = row_of(name);
	unlock_stubs();
	if (!r)
		return find_real_target(name, pc);
	if (!r->api)
		return redirect_unrecorded(r, e, pc);
	atomic_store(&r->entry, e);
	word = get_api_word(r->api);
	if (!(word & API_STATES))
		word = call_first_use(r->api, pc);
	if (word & API_GONE) {
		log_loss(LOSS_REAL,
			"%s: no loaded library defines it (any more); the call returned 0", name);
		return (struct tail){NULL, NULL};
	}
	if (word & API_ON)
		word = rest_row(r->api);
	if (word & API_SKIP)
		return redirect_to_real(r, e);
	err = ffi_entry(r->api, &code, &context);
	if (!err)
		return redirect_stub(r, e, code, context);
	log_loss(LOSS_ENTRY, "%s: libffi cannot call it: %s; it is not recorded",
		r->api->spec->symbol, strerror(-err));
	return find_real_target(name, pc);
}

struct choice {
	struct stub_entry *e;
	uintptr_t pc;
	struct tail out;
};

static void choose_on_private_stack(void *arg)
{
	struct choice *c = arg;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	c->out = choose_target(c->e, c->pc);
	pthread_setcancelstate(cancel, NULL);
}

/*
 * Called from stub_entry.S when a stub without a target was called. first: the stub's initial
 * target, inside its entry.
 */
__attribute__((visibility("hidden"))) struct tail stub_first(uintptr_t a0, uintptr_t a1,
	uintptr_t a2, uintptr_t a3, const struct stub_target *first, uintptr_t pc)
{
	struct stub_entry *e = (void *)((uintptr_t)first - offsetof(struct stub_entry, first));
	struct choice c = {e, pc, {NULL, NULL}};
	struct thread_self *w = &thread_state;
	int err = errno;

	(void)a0;
	(void)a1;
	(void)a2;
	(void)a3;
	/*
	 * The call comes from inside libprobe, or from a signal handler that interrupted it: this
	 * thread may hold the lock.
	 */
	if (w->busy)
		return find_real_target(stub_entry_name(e), pc);
	w->busy++;
	private_stack_call(choose_on_private_stack, &c);
	w->busy--;
	errno = err;
	return c.out;
}

/* ---- later changes ---- */

void stub_second(const char *name)
{
	struct stub_row *r = find_stub_row(name);

	if (!r || (r->api && !set_api_state(r->api, API_ON | API_SKIP, API_MULTI)))
		return;
	reset_stub(r);
}

static bool is_stub_in_use(const struct stub_row *r)
{
	return !r->api || get_api_word(r->api) & (API_ON | API_SKIP);
}

bool stub_any_in_use(void)
{
	struct stub_row *r = atomic_load(&rows);

	while (r && !is_stub_in_use(r))
		r = r->next;
	return r;
}

void stub_second_copies(const struct elf_file *f)
{
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (is_stub_in_use(r) && elf_file_has_function(f, r->name))
			stub_second(r->name);
}

void stub_watch(struct api *a, bool watch)
{
	if (!set_api_state(a, watch ? API_SKIP : API_ON, watch ? API_ON : API_SKIP))
		return;
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (r->api == a)
			reset_stub(r);
}

void stub_rest_unwanted(void)
{
	bool rest;

	/*
	 * If two threads do this at the same time, the later one must not store the earlier one's
	 * result.
	 */
	do {
		rest = are_rows_unwanted();
		for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
			if (r->api && may_rest(r->api) &&
				set_api_state(
					r->api, rest ? API_ON : API_SKIP, rest ? API_SKIP : API_ON))
				reset_stub(r);
	} while (are_rows_unwanted() != rest);
}

void stub_forget(void)
{
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next) {
		if (r->api)
			reset_api(r->api);
		reset_stub(r);
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
	lock_stubs();
	elfsym_handle_stubs(make_row, NULL);
	unlock_stubs();
	for (struct stub_row *r = atomic_load(&rows); r; r = r->next)
		if (r->api)
			visit(r->api, arg);
}

struct each_without {
	void (*visit)(const char *name, void *arg);
	void *arg;
};

static void visit_without_row(const char *name, void *arg)
{
	const struct each_without *e = arg;
	const struct stub_row *r = row_of(name);

	if (!r || !r->api)
		e->visit(name, e->arg);
}

void stub_each_without_row(void (*visit)(const char *name, void *arg), void *arg)
{
	struct each_without e = {visit, arg};

	lock_stubs();
	elfsym_handle_stubs(visit_without_row, &e);
	unlock_stubs();
}
