/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches everything off: one word that every entry point of libprobe reads first (compiled
 * wrappers, entries through libffi, hooks of dlsym and dlopen, probe.h). From the next call on
 * nothing is recorded, whatever a row's state is, and a call costs as much as an unlisted one.
 *
 * What happened while recording was off is not known afterwards: new communicators, requests,
 * numbers of calls.
 */
#ifndef PROBE_API_ENABLED_H
#define PROBE_API_ENABLED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"

/* Each reason switches recording off independently: recording is on if no reason is set. */
enum off_reason {
	OFF_SETTLED =
		/*
		 * the session ended, cannot record, or is that of a forked child that must not
		 * record
		 */
	1,
	OFF_SWITCHED = 2, /* switched off by the user */
};

/*
 * Row states whose calls go straight to the real function: API_SKIP, and API_ON too while
 * recording is off.
 */
extern _Atomic uint32_t pass_states __attribute__((visibility("hidden")));

static inline bool recording_enabled(void)
{
	return !(atomic_load_explicit(&pass_states, memory_order_acquire) & API_ON);
}

/* Sets or removes a reason. Any thread may call it, signal handlers too. Keeps errno. */
void set_off_reason(enum off_reason why, bool off);

/*
 * True if calls of f go straight to the real function. Reads the global word first, then the
 * row's: this takes as many instructions as reading the row's alone.
 */
static inline __attribute__((always_inline)) bool is_passed_through(const struct api *f)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	uint32_t states;
	bool pass;

	/* Aligned loads, which have acquire semantics on this processor; compilers do not fold an atomic load into the test. */
	__asm__ volatile("movl %2, %1\n\ttestl %1, %3"
			 : "=@ccnz"(pass), "=&r"(states)
			 : "m"(pass_states), "m"(f->word)
			 : "memory");
	return pass;
#else
	uint32_t states = atomic_load_explicit(&pass_states, memory_order_acquire);

	return atomic_load_explicit(&f->word, memory_order_acquire) & states;
#endif
}

#endif
