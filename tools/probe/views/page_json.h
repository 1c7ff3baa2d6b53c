/* SPDX-License-Identifier: Apache-2.0 */
/* The document in the page of `probe report --html`: members of objects. */
#ifndef PROBE_TOOLS_VIEWS_PAGE_JSON_H
#define PROBE_TOOLS_VIEWS_PAGE_JSON_H

#include "tools/lib/target.h"
#include "tools/probe/views/html.h"

static inline void page_put_separator(struct target *t, bool some)
{
	if (some)
		target_text(t, ",");
}

/* A further member of an object. */
static inline void page_put_key(struct target *t, const char *key)
{
	target_print(t, ",\"%s\":", key);
}

static inline void page_put_string(struct target *t, const char *key, const char *v)
{
	page_put_key(t, key);
	target_json(t, v ? v : "");
}

static inline void page_put_u64(struct target *t, const char *key, uint64_t v)
{
	page_put_key(t, key);
	target_print(t, "%llu", (unsigned long long)v);
}

/* ---- page_tables.c ---- */

/* The members operations, slowest and flame. */
void page_put_operations(struct report *r, struct target *t);
void page_put_slowest(struct report *r, struct target *t);
void page_put_flame(const struct html *h, struct target *t);

#endif
