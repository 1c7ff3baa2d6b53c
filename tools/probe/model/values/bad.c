/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/values/bad.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/unwritten.h"
#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "journal/columns.h"

#define COMMS_MAX 65536u
#define STEPS_MAX (UINT64_C(1) << 26) /* 8 MiB of bits; all later steps are counted as one */

void bad_init(struct bad *b, const struct folders *folders, const struct clock_fix *skew)
{
	*b = (struct bad){.folders = folders, .skew = skew};
	table_init(&b->first, sizeof(struct bad_row), COMMS_MAX);
	table_init(&b->first_nan, sizeof(struct bad_row), COMMS_MAX);
	table_init(&b->skipped, sizeof(struct bad_row), COMMS_MAX);
	b->rank = tool_alloc(folders->n * sizeof(*b->rank));
}

void bad_free(struct bad *b)
{
	table_free(&b->first);
	table_free(&b->first_nan);
	table_free(&b->skipped);
	free(b->rank);
	free(b->step_seen);
}

static void count_step(struct bad *b, uint64_t step)
{
	if (step > b->last_step)
		b->last_step = step;
	if (step >= STEPS_MAX) {
		b->steps_beyond = 1;
		return;
	}
	if (step >= b->steps_cap) {
		uint64_t want = b->steps_cap ? b->steps_cap : 4096;

		while (want <= step)
			want *= 2;
		b->step_seen = tool_realloc(b->step_seen, want / 8);
		memset((char *)b->step_seen + b->steps_cap / 8, 0, (want - b->steps_cap) / 8);
		b->steps_cap = want;
	}

	uint64_t *word = &b->step_seen[step / 64], bit = UINT64_C(1) << (step % 64);

	b->steps += !(*word & bit);
	*word |= bit;
}

static void copy_field_text(char *to, size_t cap, const struct csv_text *t)
{
	snprintf(to, cap, "%.*s", (int)(t->n < cap ? t->n : cap), t->s);
}

/* Returns true if a is earlier than b. Both must have the same communicator and kind. */
static bool is_row_earlier(const struct bad_row *a, const struct bad_row *b)
{
	const struct call *x = &a->call, *y = &b->call;
	bool numbered = !a->key.b && x->comm_seq != NO_NUMBER && y->comm_seq != NO_NUMBER;

	if (numbered && x->comm_seq != y->comm_seq)
		return x->comm_seq < y->comm_seq;
	if (numbered && a->out != b->out)
		return !a->out;
	if (x->step != y->step)
		return x->step < y->step;
	return a->event < b->event;
}

/* Returns true if both are on the same side of the same collective operation. */
static bool same_operation(const struct bad_row *a, const struct bad_row *b)
{
	return !a->key.b && a->call.comm_seq != NO_NUMBER && a->call.comm_seq == b->call.comm_seq &&
	       a->out == b->out;
}

static void add_same_rank(struct bad_row *r, uint32_t rank)
{
	for (unsigned i = 0; i < r->nsame && i < BAD_SAME_MAX; i++)
		if (r->same[i] == rank)
			return;
	if (r->nsame < BAD_SAME_MAX)
		r->same[r->nsame] = rank;
	r->nsame++;
}

/*
 * Keeps the row in the table if it is the first one of its communicator. After the first bad value most
 * rows are bad, so only an earlier one is examined in full.
 */
static void add_first_row(struct table *first, const struct bad_row *row, struct calls *s)
{
	struct bad_row *have = table_get(first, row->key.a, row->key.b), now = *row;

	if (!have)
		return;
	if (have->call.rows && same_operation(&now, have)) {
		add_same_rank(have, now.call.rank);
		if (!is_row_earlier(&now, have))
			return;
		memcpy(now.same, have->same, sizeof(now.same));
		now.nsame = have->nsame;
	} else if (have->call.rows && !is_row_earlier(&now, have)) {
		return;
	}
	add_same_rank(&now, now.call.rank);
	csv_parse_u64(calls_get_column(s, COL_count), &now.count);
	copy_field_text(now.dtype, sizeof(now.dtype), calls_get_column(s, COL_dtype));
	copy_field_text(now.shape, sizeof(now.shape), calls_get_column(s, COL_shape));
	csv_copy_field_to(now.name, sizeof(now.name), calls_get_column(s, COL_name));
	copy_field_text(now.min, sizeof(now.min), calls_get_column(s, COL_min));
	copy_field_text(now.max, sizeof(now.max), calls_get_column(s, COL_max));
	*have = now;
}

void bad_add(void *arg, struct calls *s, const struct call *c, uint64_t nans, uint64_t infs)
{
	struct bad *b = arg;
	const struct csv_text *io = calls_get_column(s, COL_io);
	struct bad_rank *r = &b->rank[c->rank];
	struct bad_row now = {.call = *c, .nans = nans, .infs = infs, .index = NO_NUMBER};
	const struct step_range *skipped;
	bool p2p = c->bits & CALL_P2P;

	csv_parse_i64(calls_get_column(s, COL_index), &now.index);
	now.out = io->n && io->s[0] == 'o';
	if (strcmp(intern_get_name(c->lib), "aten") == 0 &&
		is_possibly_unwritten(intern_get_name(c->op), now.out, now.index))
		return;
	if (!r->rows++ || c->step < r->first_step)
		r->first_step = c->step;
	b->rows++;
	b->nan_rows += nans != 0;
	b->inf_rows += infs != 0;
	count_step(b, c->step);

	now.event = clock_set_right(&b->skew[c->rank], c->start + (now.out ? c->dur : 0));
	now.key = (struct table_key){c->comm, p2p};
	skipped = meta_find_skipped(&b->folders->dir[c->rank].meta, c->step);
	if (skipped) {
		now.key.b |= skipped->from << 1;
		add_first_row(&b->skipped, &now, s);
		return;
	}
	add_first_row(&b->first, &now, s);
	if (nans)
		add_first_row(&b->first_nan, &now, s);
}

/* Returns the earlier one of `best`, which may be NULL, and the rows from step `from` on. */
static const struct bad_row *find_first_row(
	const struct table *first, uint64_t from, const struct bad_row *best)
{
	for (uint32_t i = 0; i < first->n; i++) {
		const struct bad_row *r = table_at(first, i);

		if (r->call.step < from)
			continue;
		if (!best || r->call.step < best->call.step ||
			(r->call.step == best->call.step && r->event < best->event))
			best = r;
	}
	return best;
}

const struct bad_row *bad_find_first(const struct bad *b)
{
	return find_first_row(&b->first, 0, find_first_row(&b->skipped, 0, NULL));
}

const struct bad_row *bad_find_first_applied(const struct bad *b)
{
	return find_first_row(&b->first, 0, NULL);
}

const struct bad_row *bad_find_first_nan(const struct bad *b)
{
	return find_first_row(&b->first_nan, 0, NULL);
}

const struct bad_row *bad_find_skipped(const struct bad *b, uint64_t from)
{
	return find_first_row(&b->skipped, from, NULL);
}
