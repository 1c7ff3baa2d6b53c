/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about a library that are not part of its interface: offsets, values of enums, slots of tables, encodings of handles.
 * Each fact is a row of one table, and is verified in the process before anything depends on it. If it does not hold, features
 * that depend on it are off. `probe check` prints the table, meta.json has the results.
 */
#ifndef PROBE_API_LAYOUT_FACT_H
#define PROBE_API_LAYOUT_FACT_H

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_FACTS_MAX 32

/*
 * Texts are stored in the row, so that the table has no pointers that the loader would have to
 * relocate.
 */
struct layout_fact {
	char name[24];
	char versions[64]; /* versions of the library for which the fact is known to hold */
	char verified_by[120];
	char off[120]; /* what is off if the fact does not hold */
};

enum layout_state {
	LAYOUT_UNSEEN, /* not checked in this process so far */
	LAYOUT_VERIFIED,
	LAYOUT_FAILED,
};

/* The last row has no name. Defined in wrappers/; programs without wrappers have none. */
extern const struct layout_fact layout_facts[] __attribute__((weak));

extern uint8_t layout_states[LAYOUT_FACTS_MAX];

static inline enum layout_state get_layout_state(unsigned fact)
{
	return (enum layout_state)__atomic_load_n(&layout_states[fact], __ATOMIC_RELAXED);
}

const char *get_layout_state_name(enum layout_state s);

/*
 * Notes whether the fact was verified; a failure is permanent. Returns true if this result is
 * new. Adapters call session_record_layout_fact() instead.
 */
bool record_layout_fact(unsigned fact, bool holds);

#endif
