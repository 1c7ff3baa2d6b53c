/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are used repeatedly (libraries, functions, operations) as small numbers. 0 is the empty name. Bounded: a damaged
 * file could have millions of names; when the table is full, further names become "(more names)". Any thread may ask.
 */
#ifndef PROBE_TOOLS_LIB_INTERN_H
#define PROBE_TOOLS_LIB_INTERN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERN_MAX 16384u /* names */

uint32_t intern_text(const char *s, size_t n);
const char *intern_name(uint32_t id);

/* A cached property of names, computed from the text once. Static: zero except for `ask`. */
struct name_question {
	bool (*ask)(const char *name);
	_Atomic uint8_t answer[INTERN_MAX]; /* 0: not asked yet */
};

enum { NAME_NO = 1, NAME_YES };

/* Any thread may ask: two threads compute the same answer. */
static inline bool ask_name(struct name_question *q, uint32_t id)
{
	uint8_t known = atomic_load_explicit(&q->answer[id % INTERN_MAX], memory_order_relaxed);

	if (!known) {
		known = q->ask(intern_name(id)) ? NAME_YES : NAME_NO;
		atomic_store_explicit(&q->answer[id % INTERN_MAX], known, memory_order_relaxed);
	}
	return known == NAME_YES;
}

#endif
