/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches everything off: one word that every entry of ours reads first (compiled wrappers, entries through libffi,
 * hooks of dlsym and dlopen, probe.h). From the next call on nothing is recorded, whatever a row's state is, and a call
 * costs as much as one that was never listed.
 *
 * Changes while it was off are not known afterwards: communicators, requests, numbers of calls.
 */
#ifndef PROBE_API_ENABLED_H
#define PROBE_API_ENABLED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"

/* Each turns it off for itself; on is where none does. */
enum off_reason {
	OFF_SETTLED =
		1, /* the session ended, cannot record, or is a forked child's that is not to */
	OFF_SWITCHED = 2, /* from outside */
};

/* The states whose calls go straight to the real function: API_SKIP, and API_ON too while recording is off. */
extern _Atomic uint32_t pass_states __attribute__((visibility("hidden")));

static inline bool recording_enabled(void)
{
	return !(atomic_load_explicit(&pass_states, memory_order_acquire) & API_ON);
}

/* Any thread, and signal handlers. Keeps errno. */
void recording_switch(enum off_reason why, bool off);

/* Reads the word first, then the row's: an entry takes as many instructions as comparing the row's alone would. */
static inline __attribute__((always_inline)) bool api_passes(const struct api *f)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	uint32_t states;
	bool pass;

	/* Aligned loads, which acquire on this processor; compilers do not fold an atomic one into the test. */
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
