/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/period.h"

#include <string.h>

#include "base/hash.h"

#define BASE UINT64_C(0x9e3779b97f4a7c15) /* odd: no power of it is 0 */
#define LOOP 4 /* a pattern with this many calls may be a loop over layers */
#define TRIES 64 /* maximum number of earlier occurrences of a token that are examined */

void period_init(struct period *p)
{
	memset(p, 0, sizeof(*p));
	p->power[0] = 1;
	for (unsigned i = 1; i <= PERIOD_MAX; i++)
		p->power[i] = p->power[i - 1] * BASE;
}

static uint64_t get_token(const struct period *p, uint64_t i)
{
	return p->token[i % PERIOD_KEPT];
}

/* Returns the hash of the tokens before number i. */
static uint64_t get_sum_before(const struct period *p, uint64_t i)
{
	return i ? p->sum[(i - 1) % PERIOD_KEPT] : 0;
}

/* Returns the hash of the n tokens from number `first` on; n is at most PERIOD_MAX. */
static uint64_t compute_token_hash(const struct period *p, uint64_t first, uint32_t n)
{
	return get_sum_before(p, first + n) - get_sum_before(p, first) * p->power[n];
}

/* Returns true if the last calls repeat with a period of this length. */
static bool has_period(const struct period *p, uint32_t length)
{
	uint64_t times = (PERIOD_CALLS + length - 1) / length, n = p->n, last;

	if (times < 3)
		times = 3;
	/* The hash also needs the token before the first one. */
	if (times * length + 1 > n || times * length >= PERIOD_KEPT)
		return false;
	last = compute_token_hash(p, n - length, length);
	for (uint64_t i = 2; i <= times; i++)
		if (compute_token_hash(p, n - i * length, length) != last)
			return false;
	return true;
}

/* Makes this period the pattern. The rounds in which it was found count as complete. */
static void set_period_pattern(struct period *p, uint32_t length)
{
	uint64_t from = p->n - length, oldest = p->n >= PERIOD_KEPT ? p->n - PERIOD_KEPT : 0;

	if (oldest < p->settled)
		oldest = p->settled;
	while (from > oldest && get_token(p, from - 1) == get_token(p, from - 1 + length))
		from--;
	p->length = length;
	p->first = from;
	p->at = (uint32_t)((p->n - from) % length);
	p->extra = 0;
	for (uint32_t i = 0; i < length; i++)
		p->pattern[i] = get_token(p, from + i);
	p->rounds += (p->n - from) / length;
	p->fitted += p->n - from - p->at;
	p->settled = p->n - p->at;
}

/* Returns the shortest period, longer than `over`, that ends here; 0: none. */
static uint32_t find_period(const struct period *p, uint32_t over)
{
	uint64_t last = get_token(p, p->n - 1);
	unsigned tries = 0;

	for (uint32_t length = over + 1; length <= PERIOD_MAX && 3 * (uint64_t)length < p->n;
		length++) {
		if (get_token(p, p->n - 1 - length) != last)
			continue;
		if (has_period(p, length))
			return length;
		if (++tries == TRIES)
			break;
	}
	return 0;
}

static void record_token(struct period *p, uint64_t token)
{
	uint64_t h = hash_mix(token + 1);

	p->token[p->n % PERIOD_KEPT] = token;
	p->sum[p->n % PERIOD_KEPT] = get_sum_before(p, p->n) * BASE + h;
	p->n++;
}

/* Returns how many extra calls a round may have: one for each eight calls of the pattern, at least two. */
static uint32_t get_tolerated_extras(const struct period *p)
{
	return p->length / 8 > 2 ? p->length / 8 : 2;
}

static bool close_round(struct period *p)
{
	p->at = 0;
	p->extra = 0;
	p->rounds++;
	p->fitted += p->length;
	p->settled = p->n;
	return true;
}

/*
 * Replaces the pattern. The old one was a loop within a step (`within`), or belonged to another
 * part of the program.
 */
static bool replace_period_pattern(struct period *p, uint32_t length, bool within)
{
	if (within) {
		p->rounds = p->fitted = p->extras = p->settled = 0;
	} else {
		p->breaks++;
		p->extras -= p->extras < p->extra ? p->extras : p->extra;
	}
	set_period_pattern(p, length);
	return p->at == 0;
}

bool period_add_call(struct period *p, uint64_t token)
{
	uint32_t other;

	record_token(p, token);
	if (!p->length) {
		other = find_period(p, 0);
		if (other)
			set_period_pattern(p, other);
		return other != 0 && p->at == 0;
	}
	if (token == p->pattern[p->at])
		return ++p->at == p->length && close_round(p);
	p->extras++;
	p->extra++;
	if (p->length < LOOP) {
		/*
		 * A longer pattern may be a step plus its metrics every tenth time. A very short
		 * pattern is a loop in a step.
		 */
		other = find_period(p, p->length);
		if (other)
			return replace_period_pattern(p, other, true);
	}
	if (p->extra <= get_tolerated_extras(p))
		return false;
	/*
	 * Ten rounds and an evaluation repeat as well, so a pattern is only replaced by one that
	 * was found later.
	 */
	other = p->n - p->settled >= PERIOD_CALLS ? find_period(p, 0) : 0;
	return other && p->n - p->settled >= 3 * (uint64_t)other &&
	       replace_period_pattern(p, other, false);
}

double period_get_confidence(const struct period *p)
{
	if (!p->length || !p->fitted)
		return 0;
	return (double)p->fitted / (double)(p->fitted + p->extras) / (1.0 + (double)p->breaks);
}
