/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a C++ exception, pthread_exit() or a cancellation needs to run a wrapper's cleanup on its
 * way: the personality routine that the compiler names in functions with cleanups, and
 * _Unwind_Resume(), which ends a cleanup.
 *
 * libgcc's own functions cannot be used. Linked in statically they get the context of another
 * libgcc, that of the program, whose layout is private to each version; and they end the process
 * if their own copy of the unwinder was never started (_Unwind_SetGR asserts that). libgcc_s.so.1
 * cannot be linked either, because libprobe.so needs libc only.
 *
 * So these functions pass everything back to the unwinder that calls: the object that contains
 * the personality's return address exports the functions to read and change the context. An
 * unwinder that was linked into some object and exports nothing skips the cleanup; the next call
 * on the thread notices that the wrapper was left.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread.h"
#include "elf/loaded/elfsym.h"

#define UNWINDERS 4
#define PROVIDERS 16

/* From the Itanium C++ ABI. <unwind.h> would make both functions visible outside. */
#define OURS __attribute__((visibility("hidden")))

enum { SEARCH_PHASE = 1 };
enum { INSTALL_CONTEXT = 7, CONTINUE_UNWIND = 8 };

struct exception;
struct context;

OURS int __gcc_personality_v0(
	int version, int actions, uint64_t cls, struct exception *e, struct context *c);
OURS _Noreturn void _Unwind_Resume(struct exception *e);

struct unwinder {
	atomic_uint state; /* enum unwinder_state */
	uintptr_t lo, hi;
	const uint8_t *(*language_data)(struct context *c);
	uintptr_t (*region_start)(struct context *c);
	uintptr_t (*ip_info)(struct context *c, int *before);
	void (*set_gr)(struct context *c, int reg, uintptr_t v);
	void (*set_ip)(struct context *c, uintptr_t v);
	void (*resume)(struct exception *e);
};

enum unwinder_state { UNWINDER_FREE = 0, UNWINDER_BEING_FILLED, UNWINDER_READY };

static struct unwinder known[UNWINDERS];

/* The unwinder that called the cleanup which runs on this thread. */
static __thread struct unwinder *caller THREAD_TLS;

static void *provided_function(const char *name, uintptr_t by)
{
	struct provider p[PROVIDERS];
	int n = elfsym_find_all(name, p, PROVIDERS);

	for (int i = 0; i < n && i < PROVIDERS; i++)
		if (by >= p[i].lo && by < p[i].hi && !p[i].ifunc)
			return p[i].addr;
	return NULL;
}

static bool fill_unwinder(struct unwinder *u, uintptr_t by)
{
	struct provider p[PROVIDERS];
	int n = elfsym_find_all("_Unwind_Resume", p, PROVIDERS);

	u->language_data = provided_function("_Unwind_GetLanguageSpecificData", by);
	u->region_start = provided_function("_Unwind_GetRegionStart", by);
	u->ip_info = provided_function("_Unwind_GetIPInfo", by);
	u->set_gr = provided_function("_Unwind_SetGR", by);
	u->set_ip = provided_function("_Unwind_SetIP", by);
	u->resume = provided_function("_Unwind_Resume", by);
	for (int i = 0; i < n && i < PROVIDERS; i++) {
		if (by >= p[i].lo && by < p[i].hi) {
			u->lo = p[i].lo;
			u->hi = p[i].hi;
		}
	}
	return u->language_data && u->region_start && u->ip_info && u->set_gr && u->set_ip &&
	       u->resume;
}

/* No lock: if two threads come first at the same time, each may fill an entry. */
static struct unwinder *find_unwinder(uintptr_t by)
{
	for (int i = 0; i < UNWINDERS; i++) {
		unsigned int s = atomic_load_explicit(&known[i].state, memory_order_acquire);

		if (s == UNWINDER_READY && by >= known[i].lo && by < known[i].hi)
			return &known[i];
	}
	for (int i = 0; i < UNWINDERS; i++) {
		unsigned int s = UNWINDER_FREE;

		if (!atomic_compare_exchange_strong(&known[i].state, &s, UNWINDER_BEING_FILLED))
			continue;
		if (!fill_unwinder(&known[i], by)) {
			atomic_store_explicit(&known[i].state, UNWINDER_FREE, memory_order_release);
			return NULL;
		}
		atomic_store_explicit(&known[i].state, UNWINDER_READY, memory_order_release);
		return &known[i];
	}
	return NULL;
}

static uint64_t read_call_site_uleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;

	do {
		b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

/* Reads a field of the call site table; compilers write uleb128, or udata4. */
static uint64_t read_call_site_field(const uint8_t **p, uint8_t enc)
{
	uint32_t v;

	if ((enc & 0x0f) == 0x01)
		return read_call_site_uleb(p);
	__builtin_memcpy(&v, *p, sizeof(v));
	*p += sizeof(v);
	return v;
}

/*
 * Returns where the function continues when an exception arrives at ip, 0: it has no cleanup. The
 * table belongs to libprobe's own code, as its compiler wrote it: landing pads are relative to
 * the function's start, and all call sites have cleanups or nothing.
 */
static uintptr_t landing_pad(const uint8_t *p, uintptr_t start, uintptr_t ip)
{
	const uint8_t *end;
	uint64_t len;
	uint8_t enc;

	if (!p || *p++ != 0xff) /* an explicit base of landing pads: libprobe's code has none */
		return 0;
	if (*p++ != 0xff) /* offset of the type table: not needed */
		read_call_site_uleb(&p);
	enc = *p++;
	if ((enc & 0x0f) != 0x01 && (enc & 0x0f) != 0x03)
		return 0;
	len = read_call_site_uleb(&p);
	end = p + len;
	while (p < end) {
		uintptr_t from = start + read_call_site_field(&p, enc), pad;

		len = read_call_site_field(&p, enc);
		pad = read_call_site_field(&p, enc);

		read_call_site_uleb(&p); /* the action at this call site */
		if (ip < from)
			return 0; /* the table is sorted */
		if (ip - from < len)
			return pad ? start + pad : 0;
	}
	return 0;
}

int __gcc_personality_v0(
	int version, int actions, uint64_t cls, struct exception *e, struct context *c)
{
	uintptr_t ip, pad,
		by = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
	struct unwinder *u;
	int before = 0;

	(void)cls;
	/* libprobe's code has no catch handlers, so it never ends the search. */
	if (version != 1 || actions & SEARCH_PHASE)
		return CONTINUE_UNWIND;
	u = find_unwinder(by);
	if (!u)
		return CONTINUE_UNWIND;
	ip = u->ip_info(c, &before);
	pad = landing_pad(u->language_data(c), u->region_start(c), before ? ip : ip - 1);
	if (!pad)
		return CONTINUE_UNWIND;
	u->set_gr(c, __builtin_eh_return_data_regno(0), (uintptr_t)e);
	u->set_gr(c, __builtin_eh_return_data_regno(1), 0);
	u->set_ip(c, pad);
	caller = u;
	return INSTALL_CONTEXT;
}

/*
 * A cleanup is only ever entered by the personality above, so the unwinder is known. ThreadSanitizer would give this function a
 * cleanup too, which ends by calling it: the exception would return to it endlessly.
 */
__attribute__((no_sanitize("thread"))) void _Unwind_Resume(struct exception *e)
{
	caller->resume(e);
	__builtin_unreachable();
}
