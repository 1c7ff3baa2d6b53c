/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers names that occur often (libraries, functions, operations). Number 0 is the empty name. A
 * damaged file can contain millions of names, so the number is limited: when the table is full,
 * every new name becomes "(more names)". Any thread may call these functions.
 */
#ifndef PROBE_TOOLS_LIB_INTERN_H
#define PROBE_TOOLS_LIB_INTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERN_MAX 16384u /* maximum number of names */

uint32_t intern_add_text(const char *s, size_t n);
const char *intern_get_name(uint32_t id);

/*
 * A boolean property of names, computed once per name and cached. Objects must be static, with all
 * members zero except `ask`.
 */
struct name_question {
	bool (*ask)(const char *name);
	_Atomic uint8_t answer[INTERN_MAX]; /* 0: not computed yet */
};

enum { NAME_NO = 1, NAME_YES };

/*
 * Returns the property of the name. Any thread may call this: at worst, two threads compute the
 * same answer.
 */
static inline bool check_name_property(struct name_question *q, uint32_t id)
{
	uint8_t known = atomic_load_explicit(&q->answer[id % INTERN_MAX], memory_order_relaxed);

	if (!known) {
		known = q->ask(intern_get_name(id)) ? NAME_YES : NAME_NO;
		atomic_store_explicit(&q->answer[id % INTERN_MAX], known, memory_order_relaxed);
	}
	return known == NAME_YES;
}

#endif
