/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of integers that select ranks and steps: "3", "0,2,4-6", [0, "4-6"]. */
#include "config/config_value.h"

#include <stdlib.h>
#include <string.h>

static void read_spaces(const char **p, const char *end)
{
	while (*p < end && is_space(**p))
		++*p;
}

/* Parses a non-negative integer of at most INT64_MAX. */
static bool parse_range_end(const char **p, const char *end, uint64_t *out)
{
	const char *from = *p;
	uint64_t v = 0;

	for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
		unsigned d = (unsigned)(**p - '0');

		if (v > ((uint64_t)INT64_MAX - d) / 10)
			return false;
		v = v * 10 + d;
	}
	*out = v;
	return *p > from;
}

/* The capacity is the smallest power of two that is at least n, so it need not be stored. */
static bool add_range_item(struct ranges *r, uint64_t lo, uint64_t hi)
{
	if ((r->n & (r->n - 1)) == 0) {
		size_t cap = r->n ? (size_t)r->n * 2 : 1;
		struct range *item = realloc(r->item, cap * sizeof(*item));

		if (!item)
			return false;
		r->item = item;
	}
	r->item[r->n++] = (struct range){lo, hi};
	return true;
}

const char *ranges_add(struct ranges *r, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	bool listed = false;

	read_spaces(&p, end);
	while (end > p && is_space(end[-1]))
		end--;
	if (end - p >= 2 && *p == '[' && end[-1] == ']') {
		listed = true;
		p++;
		end--;
		read_spaces(&p, end);
		if (p == end)
			return NULL;
	}
	for (;;) {
		uint64_t lo, hi;
		char quote = 0;

		read_spaces(&p, end);
		/* An environment variable may contain the file's notation, with quotes. */
		if (listed && p < end && (*p == '"' || *p == '\''))
			quote = *p++;
		if (!parse_range_end(&p, end, &lo))
			return "not a list of integers";
		hi = lo;
		read_spaces(&p, end);
		if (p < end && *p == '-') {
			p++;
			read_spaces(&p, end);
			if (!parse_range_end(&p, end, &hi))
				return "a range that does not end in an integer";
			read_spaces(&p, end);
		}
		if (quote && (p == end || *p++ != quote))
			return "not a list of integers";
		read_spaces(&p, end);
		if (hi < lo)
			return "a range that ends before it begins";
		if (!add_range_item(r, lo, hi))
			return config_oom;
		if (p == end)
			return NULL;
		if (*p++ != ',')
			return "not a list of integers";
	}
}

static int by_start(const void *a, const void *b)
{
	uint64_t x = ((const struct range *)a)->lo, y = ((const struct range *)b)->lo;

	return x < y ? -1 : x > y;
}

void ranges_merge(struct ranges *r)
{
	uint32_t n = 0;

	if (r->n == 0)
		return;
	qsort(r->item, r->n, sizeof(*r->item), by_start);
	for (uint32_t i = 1; i < r->n; i++) {
		struct range *last = &r->item[n], *next = &r->item[i];

		if (next->lo <= last->hi + 1) { /* hi is at most INT64_MAX: no overflow */
			if (next->hi > last->hi)
				last->hi = next->hi;
		} else {
			r->item[++n] = *next;
		}
	}
	r->n = n + 1;
}

void ranges_free(struct ranges *r)
{
	free(r->item);
	*r = (struct ranges){0, NULL};
}

bool ranges_has(const struct ranges *r, uint64_t v)
{
	uint32_t lo = 0, hi = r->n;

	if (hi == 0)
		return true;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->item[mid].hi < v)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->n && r->item[lo].lo <= v;
}
