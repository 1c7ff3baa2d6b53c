/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/table.h"
#include "tools/lib/tool.h"

struct sequence {
	const uint64_t *key[SEQUENCE_LEVELS];
	uint32_t n;
};

/* maximum number of differences per search; beyond it, the best path so far is used */
#define COST_MAX 2048

struct align {
	const uint64_t *a, *b; /* keys of the current level */
	uint32_t *partner;
	int64_t *forward, *backward; /* farthest x on each diagonal x - y, from -(m + 1) to n + 1 */
};

struct split {
	int64_t x, y;
};

static bool is_same_key(const struct align *s, int64_t x, int64_t y)
{
	return s->a[x] == s->b[y] && s->a[x];
}

/*
 * Returns the point on the diagonal that has advanced most; used if more search would cost too
 * much.
 */
static struct split get_best_split(const struct align *s, int64_t x0, int64_t x1, int64_t y0,
	int64_t y1, int64_t fmin, int64_t fmax, int64_t bmin, int64_t bmax)
{
	struct split best = {x0, y0}, other = {x1, y1};
	int64_t far = x0 + y0, near = x1 + y1;

	for (int64_t d = fmax; d >= fmin; d -= 2) {
		int64_t x = s->forward[d] < x1 ? s->forward[d] : x1, y = x - d;

		if (y > y1) {
			x = y1 + d;
			y = y1;
		}
		if (far < x + y) {
			far = x + y;
			best = (struct split){x, y};
		}
	}
	for (int64_t d = bmax; d >= bmin; d -= 2) {
		int64_t x = s->backward[d] > x0 ? s->backward[d] : x0, y = x - d;

		if (y < y0) {
			x = y0 + d;
			y = y0;
		}
		if (x + y < near) {
			near = x + y;
			other = (struct split){x, y};
		}
	}
	return x1 + y1 - near < far - (x0 + y0) ? best : other;
}

/* Finds a point on an optimal path through the rectangle, neither side of which is empty. */
static struct split find_split(
	const struct align *s, int64_t x0, int64_t x1, int64_t y0, int64_t y1)
{
	int64_t *const fd = s->forward, *const bd = s->backward;
	int64_t dmin = x0 - y1, dmax = x1 - y0, fmid = x0 - y0, bmid = x1 - y1;
	int64_t fmin = fmid, fmax = fmid, bmin = bmid, bmax = bmid;
	bool odd = (fmid - bmid) & 1;

	fd[fmid] = x0;
	bd[bmid] = x1;
	for (int64_t cost = 1;; cost++) {
		if (fmin > dmin)
			fd[--fmin - 1] = -1;
		else
			fmin++;
		if (fmax < dmax)
			fd[++fmax + 1] = -1;
		else
			fmax--;
		for (int64_t d = fmax; d >= fmin; d -= 2) {
			int64_t low = fd[d - 1], high = fd[d + 1];
			int64_t x = low < high ? high : low + 1, y = x - d;

			for (; x < x1 && y < y1 && is_same_key(s, x, y); x++, y++)
				;
			fd[d] = x;
			if (odd && bmin <= d && d <= bmax && bd[d] <= x)
				return (struct split){x, y};
		}
		if (bmin > dmin)
			bd[--bmin - 1] = INT64_MAX;
		else
			bmin++;
		if (bmax < dmax)
			bd[++bmax + 1] = INT64_MAX;
		else
			bmax--;
		for (int64_t d = bmax; d >= bmin; d -= 2) {
			int64_t low = bd[d - 1], high = bd[d + 1];
			int64_t x = low < high ? low : high - 1, y = x - d;

			for (; x > x0 && y > y0 && is_same_key(s, x - 1, y - 1); x--, y--)
				;
			bd[d] = x;
			if (!odd && fmin <= d && d <= fmax && x <= fd[d])
				return (struct split){x, y};
		}
		if (cost >= COST_MAX)
			return get_best_split(s, x0, x1, y0, y1, fmin, fmax, bmin, bmax);
	}
}

static void match_part(const struct align *s, int64_t x0, int64_t x1, int64_t y0, int64_t y1)
{
	while (x0 < x1 || y0 < y1) {
		struct split m;

		for (; x0 < x1 && y0 < y1 && is_same_key(s, x0, y0); x0++, y0++)
			s->partner[x0] = (uint32_t)y0;
		for (; x0 < x1 && y0 < y1 && is_same_key(s, x1 - 1, y1 - 1); x1--, y1--)
			s->partner[x1 - 1] = (uint32_t)(y1 - 1);
		if (x0 == x1 || y0 == y1)
			return;
		m = find_split(s, x0, x1, y0, y1);
		/* Recurses into the smaller half, so that the depth is logarithmic. */
		if (m.x + m.y - x0 - y0 < x1 + y1 - m.x - m.y) {
			if (m.x == x0 && m.y == y0)
				return;
			match_part(s, x0, m.x, y0, m.y);
			x0 = m.x;
			y0 = m.y;
		} else {
			if (m.x == x1 && m.y == y1)
				return;
			match_part(s, m.x, x1, m.y, y1);
			x1 = m.x;
			y1 = m.y;
		}
	}
}

static void match_sequences(
	const struct sequence *a, const struct sequence *b, unsigned levels, uint32_t *partner)
{
	size_t diagonals = (size_t)a->n + b->n + 5;
	int64_t *space = tool_alloc(2 * diagonals * sizeof(*space));
	struct align s = {.partner = partner,
		.forward = space + b->n + 2,
		.backward = space + diagonals + b->n + 2};

	memset(partner, 0xff, a->n * sizeof(*partner));
	for (unsigned l = 0; l < levels; l++) {
		uint32_t x = 0, y = 0, end;

		s.a = a->key[l];
		s.b = b->key[l];
		if (!s.a || !s.b)
			continue;
		/* Pairs elements between two pairs of the previous levels. */
		for (uint32_t i = 0; i <= a->n; i++) {
			if (i < a->n && partner[i] == NO_PARTNER)
				continue;
			end = i < a->n ? partner[i] : b->n;
			if (x < i && y < end)
				match_part(&s, x, i, y, end);
			x = i + 1;
			y = end + 1;
		}
	}
	free(space);
}

struct key_count {
	struct table_key key;
	uint32_t a, b;
};

/* Sets keys to 0 that occur more than once in a or in b. */
static void remove_repeated_keys(uint64_t *a, uint32_t n, uint64_t *b, uint32_t m)
{
	struct key_count *c;
	struct table t;

	table_init(&t, sizeof(*c), UINT32_MAX);
	for (uint32_t i = 0; i < n; i++)
		if ((c = table_get(&t, a[i], 0)))
			c->a++;
	for (uint32_t i = 0; i < m; i++)
		if ((c = table_get(&t, b[i], 0)))
			c->b++;
	for (uint32_t i = 0; i < n; i++)
		if ((c = table_find(&t, a[i], 0)) && (c->a != 1 || c->b != 1))
			a[i] = 0;
	for (uint32_t i = 0; i < m; i++)
		if ((c = table_find(&t, b[i], 0)) && (c->a != 1 || c->b != 1))
			b[i] = 0;
	table_free(&t);
}

void match_keys(uint64_t *a[SEQUENCE_LEVELS], uint32_t n, uint64_t *b[SEQUENCE_LEVELS], uint32_t m,
	uint32_t *partner)
{
	struct sequence x = {.n = n}, y = {.n = m};

	remove_repeated_keys(a[0], n, b[0], m);
	for (unsigned l = 0; l < SEQUENCE_LEVELS; l++) {
		x.key[l] = a[l];
		y.key[l] = b[l];
	}
	match_sequences(&x, &y, SEQUENCE_LEVELS, partner);
	for (unsigned l = 0; l < SEQUENCE_LEVELS; l++) {
		free(a[l]);
		free(b[l]);
	}
}
