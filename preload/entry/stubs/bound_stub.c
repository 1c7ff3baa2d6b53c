/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/stubs/bound_stub.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "call/call.h"
#include "entry/stubs/ffi.h"
#include "resolve/real.h"
#include "entry/stubs/provider.h"
#include "entry/stubs/stub_elf.h"

/*
 * From stub_entry.S: BOUND_MAX stubs of STUB_BYTES, of which the i-th jumps through
 * bound_targets[i].
 */
__attribute__((visibility("hidden"))) extern char bound_stubs[];
__attribute__((visibility("hidden"))) void bound_enter(void);

extern __attribute__((visibility("hidden"))) struct stub_target *bound_targets[BOUND_MAX];
struct stub_target *bound_targets[BOUND_MAX];

static struct slot {
	struct stub_target target;
	struct bound bound;
} slots[BOUND_MAX];
static _Atomic unsigned used; /* entries below this number are complete */

/*
 * Held while an entry is searched or filled in. Its place in the lock order is that of the stub
 * lock (stub.h). A forked child initialises it again.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void reinit_bound_lock(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void *bound_stub_at(unsigned i)
{
	return bound_stubs + (size_t)STUB_BYTES * i;
}

static void *find_bound_stub(const char *name, const void *real)
{
	unsigned n = used;

	for (unsigned i = 0; i < n; i++)
		if (slots[i].bound.real == real &&
			strcmp(get_real_name(slots[i].bound.api->spec), name) == 0)
			return bound_stub_at(i);
	return NULL;
}

static bool fill_bound_slot(
	struct slot *s, const char *name, void *real, const char *path, uintptr_t pc)
{
	struct api *a = api_find(name);

	s->bound = (struct bound){.real = real};
	if (a) {
		/*
		 * Makes the wrapper look at the function to which a call is bound even while
		 * recording is off.
		 */
		atomic_store(&a->elsewhere, true);
		set_api_state(a, API_ON | API_SKIP, API_MULTI);
		s->bound.api = a;
		s->bound.wrapper = api_wrapper(a);
		s->target = (struct stub_target){(void *)bound_enter, &s->bound};
		return true;
	}
	a = runtime_make(name, path);
	if (!a)
		return false;
	atomic_fetch_or(&a->word, API_BOUND);
	atomic_store(&a->real, real);
	s->bound.api = a;
	return !(call_first_use(a, pc) & API_SKIP) &&
	       ffi_entry(a, &s->target.code, &s->target.context) == 0;
}

/* Returns a wrapper for just this function, or `real` itself if none can be made. */
static void *bind_another_function(const char *name, void *real, const char *path, uintptr_t pc)
{
	unsigned n = used;
	void *known = find_bound_stub(name, real);

	if (known)
		return known;
	if (n == BOUND_MAX) {
		log_loss(LOSS_ENTRY,
			"more than %d functions were looked up by handle; %s and later ones are "
			"not recorded",
			BOUND_MAX, name);
		return real;
	}
	if (!fill_bound_slot(&slots[n], name, real, path, pc))
		return real;
	bound_targets[n] = &slots[n].target;
	used = n + 1;
	return bound_stub_at(n);
}

void *bind_wrapper(const char *name, void *real, const char *path, uintptr_t pc)
{
	static _Atomic bool hooked;
	struct api *a = api_find(name);
	uint32_t word;
	void *f;

	if (a) {
		word = get_api_word(a);
		if (!(word & API_STATES))
			word = call_first_use(a, (uintptr_t)real);
		/*
		 * Not recorded: the wrapper would do nothing. This holds also for several copies,
		 * if none of them is recorded.
		 */
		if (word & (API_SKIP | API_GONE) || !(word & API_DECIDED))
			return real;
		if (word & API_ON && call_get_real(a) == real)
			return api_wrapper(a);
	}
	if (!atomic_exchange(&hooked, true))
		pthread_atfork(NULL, NULL, reinit_bound_lock);
	pthread_mutex_lock(&lock);
	f = bind_another_function(name, real, path, pc);
	pthread_mutex_unlock(&lock);
	return f;
}

void bound_each(void (*visit)(struct api *a, void *arg), void *arg)
{
	unsigned n = used;

	/* Only rows made here: those of compiled wrappers are listed by api_get(). */
	for (unsigned i = 0; i < n; i++)
		if (slots[i].target.context != &slots[i].bound)
			visit(slots[i].bound.api, arg);
}
