/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What adapters know of a library from outside its interface: offsets, values of enums, slots of tables, encodings of
 * handles. Each such fact is a row of one table, is verified in the process before anything depends on it, and turns off
 * what depends on it where it does not hold. `probe check` prints the table, meta.json has what was found.
 */
#ifndef PROBE_API_LAYOUT_FACT_H
#define PROBE_API_LAYOUT_FACT_H

#include <stdbool.h>
#include <stdint.h>

#define LAYOUT_FACTS_MAX 32

/* Texts within the row: the table has no pointers that the loader would have to relocate. */
struct layout_fact {
	char name[24];
	char versions[64]; /* of which it is known */
	char verified_by[120];
	char off[120]; /* when it does not hold */
};

enum layout_state {
	LAYOUT_UNSEEN, /* nothing has depended on it in this process */
	LAYOUT_VERIFIED,
	LAYOUT_FAILED,
};

/* Ends with a row without a name. Defined in wrappers/; programs without wrappers have none. */
extern const struct layout_fact layout_facts[] __attribute__((weak));

extern uint8_t layout_states[LAYOUT_FACTS_MAX];

static inline enum layout_state layout_fact_state(unsigned fact)
{
	return (enum layout_state)__atomic_load_n(&layout_states[fact], __ATOMIC_RELAXED);
}

const char *layout_state_name(enum layout_state s);

/* It held, or it did not; what failed once stays so. True: that is new. Adapters call session_layout_fact(). */
bool layout_fact_note(unsigned fact, bool holds);

#endif
