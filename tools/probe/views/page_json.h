/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON document in the page of `probe report --html`: helpers that write the members of an
 * object.
 */
#ifndef PROBE_TOOLS_VIEWS_PAGE_JSON_H
#define PROBE_TOOLS_VIEWS_PAGE_JSON_H

#include "tools/lib/target.h"
#include "tools/probe/views/html.h"

static inline void write_page_separator(struct target *t, bool some)
{
	if (some)
		target_write_text(t, ",");
}

/* Begins another member of an object, which must not be the first one. */
static inline void write_page_key(struct target *t, const char *key)
{
	target_print(t, ",\"%s\":", key);
}

static inline void write_page_string(struct target *t, const char *key, const char *v)
{
	write_page_key(t, key);
	target_write_json(t, v ? v : "");
}

static inline void write_page_u64(struct target *t, const char *key, uint64_t v)
{
	write_page_key(t, key);
	target_print(t, "%llu", (unsigned long long)v);
}

/* ---- page_tables.c ---- */

/* Write the members operations, slowest and flame. */
void write_page_operations(struct report *r, struct target *t);
void write_page_slowest(struct report *r, struct target *t);
void write_page_flame(const struct html *h, struct target *t);

#endif
