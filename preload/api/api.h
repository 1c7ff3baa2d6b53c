/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wrapped function in this process: `struct api`, called its row, with the data on the function
 * (api_spec.h) and on its library (adapter.h).
 *
 * The core reads these and never a library's name; adapters (wrappers/) add what is specific to
 * their library.
 */
#ifndef PROBE_API_API_H
#define PROBE_API_API_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/adapter.h"
#include "api/api_spec.h"

/* An argument as the wrapper received it. Handles (communicator, dtype, request ...) are in `u`. */
union arg {
	void *p;
	const void *cp;
	int64_t i;
	uint64_t u;
	double d;
};

/*
 * api->word: how the row's calls are handled. A call loads this word once and keeps it, so that its leave matches its enter. It
 * contains the state, one of these bits; the traits; and the number of the configuration (session/generation.h) with which both
 * were decided, in the bits from API_GENERATION on.  Every state except API_SKIP takes the slow path through call_enter(), and
 * API_ON only if recording is on (enabled.h).
 */
enum api_state {
	API_NEW = 0, /* not decided yet */
	API_SKIP = 1, /* pass straight through to `real` */
	API_ON = 2, /* record, or perform its task */
	/*
	 * like API_ON, but the real function depends on the caller (several copies of the library
	 * are loaded)
	 */
	API_MULTI = 4,
	API_GONE = 8, /* no real function exists: calls return spec->lib->missing */
	API_STATES = 15
};

enum api_trait {
	/*
	 * calls have been counted from the start, so that their numbers in a communicator are
	 * exact
	 */
	API_NUMBERED = 0x80,
	API_LISTED = 0x100, /* wanted by the list of functions */
	API_HOOKED = 0x200, /* the adapter's enter and leave are called for this TASK_DATA call */
	API_MARKER = 0x400, /* each call (or every n-th) ends a step */
	API_COUNTED = 0x800, /* calls are only counted: `probe check` */
	API_LOOKED =
		/*
		 * recorded calls of the row show whether the step marker, a function of a
		 * language, runs again
		 */
	0x1000,
	/* Set by the maker of the row, and kept when everything else is decided again. */
	API_BOUND =
		/*
		 * `real` was given by the maker of the row and is not searched for: dlsym by
		 * handle
		 */
	0x2000,
	/* its provider has found the function in the list, under any of its names */
	API_CHOSEN = 0x4000,
	API_MARKED = 0x8000, /* its provider has found that the function is a marker */
	API_GIVEN = API_BOUND | API_CHOSEN | API_MARKED,
	API_DECIDED = API_NUMBERED | API_LISTED | API_HOOKED | API_MARKER | API_COUNTED | API_LOOKED
};

#define API_GENERATION 16

/* The buffers of a row whose calls all have the common form (call/plan.h). */
struct plan {
	_Atomic uint8_t state; /* enum plan_state */
	uint8_t nin, nout;
	bool one_dtype; /* all buffers have the same argument for it */
	uint8_t in_place; /* 1 + index of the argument that may mean "the other buffer"; 0: none */
	struct plain_buffer {
		uint8_t buf, count, dtype; /* indices of arguments */
	} buffer[2 * KIND_VIEWS]; /* nin inputs, then nout outputs */
};

struct api {
	_Atomic uint32_t word;
	_Atomic uint32_t dict; /* dictionary id in the journal, 0: none yet */
	_Atomic(void *) real;
	/* lowest address of the library that contains `real`; 0: not looked up yet */
	_Atomic(uintptr_t) copy;
	const struct api_spec *spec; /* for a compiled wrapper: NULL before api_fill() */
	_Atomic uint64_t hits; /* counted in `probe check` runs only */
	_Atomic bool elsewhere; /* dlsym by handle returned another real function than `real` */
	struct plan plan;
};

static inline uint32_t get_api_word(const struct api *a)
{
	return atomic_load_explicit(&a->word, memory_order_acquire);
}

/*
 * Sets the row's state to `to` if it is one of `from` (bits of enum api_state, or API_NEW); the
 * other bits stay. Returns false if it is in another state.
 */
static inline bool set_api_state(struct api *a, uint32_t from, uint32_t to)
{
	uint32_t w = atomic_load(&a->word);

	do {
		if (!(w & from))
			return false;
	} while (!atomic_compare_exchange_weak(&a->word, &w, (w & ~(uint32_t)API_STATES) | to));
	return true;
}

/* Makes the row's next call decide its state and traits again. */
static inline void reset_api(struct api *a)
{
	set_api_state(a, API_STATES, API_NEW);
}

/*
 * Returns the row of compiled wrapper i of api_count, in the order of symbols. Each library has
 * its rows in a table of its own.
 */
struct api *api_get(unsigned i);
extern const unsigned api_count;

/*
 * Sets `spec` in the rows of compiled wrappers and fills kind_table[]; both are empty at process
 * start. Call it before reading them from a row that may not have been called yet. Cheap if it is
 * done already; may be called from any thread.
 */
void api_fill(void);
/* Returns the row of an exported wrapper by its symbol, with `spec` set, or NULL. */
struct api *api_find(const char *symbol);
/* Returns the wrapper itself (the address that libprobe.so exports for the row). */
void *api_wrapper(const struct api *a);

#endif
