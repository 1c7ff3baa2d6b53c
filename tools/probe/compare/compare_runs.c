/* SPDX-License-Identifier: Apache-2.0 */
/* Compares output folders of libprobe: pairs ranks, steps and calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/out.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/compare/entries/run_calls.h"
#include "tools/probe/compare/sequence.h"

/* ---- pairs of calls in a step ---- */

struct comm_count {
	struct table_key key;
	uint32_t a, b;
};

/*
 * Pairs calls by their numbers, in any order: the collectives of communicators, and the messages of
 * one direction, peer and tag, if both sides made the same number of them.
 */
static void match_by_comm_number(
	const struct run_step *a, const struct run_step *b, uint32_t *partner)
{
	struct numbered {
		struct table_key key;
		uint32_t at;
	} * p;
	struct comm_count *c;
	struct table counts, second;

	table_init(&counts, sizeof(*c), UINT32_MAX);
	table_init(&second, sizeof(*p), UINT32_MAX);
	for (unsigned i = 0; i < a->n; i++)
		if (a->call[i].key.comm && (c = table_get(&counts, a->call[i].key.comm, 0)))
			c->a++;
	for (unsigned i = 0; i < b->n; i++)
		if (b->call[i].key.comm && (c = table_get(&counts, b->call[i].key.comm, 0)) &&
			(p = table_get(&second, b->call[i].key.comm, c->b++)))
			p->at = i;
	for (uint32_t i = 0; i < counts.n; i++) {
		c = table_at(&counts, i);
		if (c->a == c->b)
			c->a = 0;
		else
			c->a = UINT32_MAX;
	}
	for (unsigned i = 0; i < a->n; i++) {
		const struct run_key *k = &a->call[i].key;

		if (!k->comm || !(c = table_find(&counts, k->comm, 0)) || c->a == UINT32_MAX)
			continue;
		p = table_find(&second, k->comm, c->a++);
		/* A different operation at the same call site is not a partner. */
		if (p && b->call[p->at].key.name == k->name)
			partner[i] = p->at;
	}
	table_free(&counts);
	table_free(&second);
}

/*
 * Pairs the remaining calls by their call site, because threads interleave differently in each run.
 */
static void match_moved_calls(
	const struct run_step *a, const struct run_step *b, uint32_t *partner, bool *used)
{
	struct moved {
		struct table_key key;
		uint32_t *at;
		uint32_t n, cap, next;
	} * m;
	struct table left;

	table_init(&left, sizeof(*m), UINT32_MAX);
	for (unsigned i = 0; i < b->n; i++) {
		if (used[i] || !(m = table_get(&left, b->call[i].key.stack, 0)))
			continue;
		TOOL_GROW(m->at, m->n, m->cap);
		m->at[m->n++] = i;
	}
	for (unsigned i = 0; i < a->n; i++) {
		if (partner[i] != NO_PARTNER || !(m = table_find(&left, a->call[i].key.stack, 0)) ||
			m->next == m->n)
			continue;
		partner[i] = m->at[m->next++];
		used[partner[i]] = true;
	}
	for (uint32_t i = 0; i < left.n; i++)
		free(((struct moved *)table_at(&left, i))->at);
	table_free(&left);
}

struct kept_call {
	struct table_key key;
	uint32_t at, a, b; /* at: index in b; a, b: number of calls with this key on each side */
};

static struct kept_call *get_kept_place(struct table *t, const struct run_call *c)
{
	if (c->key.numbered)
		return table_get(t, c->key.numbered, (uint64_t)c->e.comm_seq);
	return table_get(t, c->key.content, UINT64_MAX);
}

/*
 * Pairs calls of a step that one run did not record completely. Pairs calls with equal numbers, and
 * calls without a number whose content is equal and unique. For all other calls it is unknown whether
 * the partner was recorded.
 */
static void match_recorded_calls(
	const struct run_step *a, const struct run_step *b, uint32_t *partner, bool *used)
{
	struct kept_call *k;
	struct table kept;

	table_init(&kept, sizeof(*k), UINT32_MAX);
	memset(used, 0, b->n * sizeof(*used));
	for (unsigned i = 0; i < b->n; i++)
		if ((k = get_kept_place(&kept, &b->call[i]))) {
			k->at = i;
			k->b++;
		}
	for (unsigned i = 0; i < a->n; i++)
		if ((k = get_kept_place(&kept, &a->call[i])))
			k->a++;
	for (unsigned i = 0; i < a->n; i++) {
		k = get_kept_place(&kept, &a->call[i]);
		partner[i] = k && k->a == 1 && k->b == 1 ? k->at : NO_PARTNER;
		if (partner[i] != NO_PARTNER)
			used[partner[i]] = true;
	}
	table_free(&kept);
}

static void set_run_level_keys(const struct run_step *s, uint64_t *key[SEQUENCE_LEVELS])
{
	for (unsigned l = 0; l < SEQUENCE_LEVELS; l++)
		key[l] = tool_alloc((s->n + 1) * sizeof(**key));
	for (unsigned i = 0; i < s->n; i++) {
		const struct run_key *k = &s->call[i].key;

		key[0][i] = k->content;
		key[1][i] = k->stack;
		key[2][i] = k->frames;
		key[3][i] = k->name;
	}
}

static bool has_same_places(const struct run_step *a, const struct run_step *b)
{
	bool equal = a->n == b->n;

	for (unsigned i = 0; equal && i < a->n; i++)
		equal = a->call[i].key.frames == b->call[i].key.frames;
	return equal;
}

static void set_used_calls(const uint32_t *partner, unsigned n, bool *used, unsigned m)
{
	memset(used, 0, m * sizeof(*used));
	for (unsigned i = 0; i < n; i++)
		if (partner[i] != NO_PARTNER)
			used[partner[i]] = true;
}

static void match_run_calls(
	const struct run_step *a, const struct run_step *b, uint32_t *partner, bool *used)
{
	uint64_t *key_a[SEQUENCE_LEVELS], *key_b[SEQUENCE_LEVELS];

	if (has_same_places(a, b)) {
		for (unsigned i = 0; i < a->n; i++)
			partner[i] = i;
		memset(used, 1, b->n * sizeof(*used));
		return;
	}
	set_run_level_keys(a, key_a);
	set_run_level_keys(b, key_b);
	match_keys(key_a, a->n, key_b, b->n, partner);
	/*
	 * If numbers are not shifted, the number decides: a call that had this partner gets another
	 * one.
	 */
	uint32_t *by_number = tool_alloc((a->n + 1) * sizeof(*by_number));

	memset(by_number, 0xff, a->n * sizeof(*by_number));
	match_by_comm_number(a, b, by_number);
	set_used_calls(by_number, a->n, used, b->n);
	for (unsigned i = 0; i < a->n; i++) {
		if (by_number[i] != NO_PARTNER)
			partner[i] = by_number[i];
		else if (partner[i] != NO_PARTNER && used[partner[i]])
			partner[i] = NO_PARTNER;
	}
	free(by_number);
	set_used_calls(partner, a->n, used, b->n);
	match_moved_calls(a, b, partner, used);
}

/* ---- one rank ---- */

/*
 * Returns how many calls of a partly read step can be reported: those up to the last pair, because
 * more pairs may follow.
 */
static unsigned count_settled_calls(const struct run_step *a, const uint32_t *partner, bool open,
	unsigned *settled_b, unsigned nb)
{
	unsigned last = 0, last_b = 0;

	*settled_b = nb;
	if (!open)
		return a->n;
	for (unsigned i = 0; i < a->n; i++)
		if (partner[i] != NO_PARTNER) {
			last = i + 1;
			if (partner[i] + 1 > last_b)
				last_b = partner[i] + 1;
		}
	/*
	 * Without any pair, all calls are reported, because otherwise the comparison would not
	 * continue.
	 */
	if (!last)
		return a->n;
	*settled_b = last_b;
	return last;
}

static bool is_step_open(const struct run_calls *r)
{
	return !r->ended && r->nstep - r->first == 1;
}

/*
 * Returns true if the partner of a call that has none in `other` may not have been recorded. For a call
 * without a number this is possible if either run did not record all calls of the step.
 */
static bool has_unrecorded_partner(
	const struct run_call *call, const struct run_step *own, const struct run_step *other)
{
	return other->few_calls || (own->few_calls && !call->key.numbered);
}

static void count_unrecorded_call(struct rank_sums *s, bool of_a)
{
	s->unrecorded_a += of_a;
	s->calls_a += of_a;
	s->unrecorded_b += !of_a;
}

static void write_run_step(struct diff_table *t, struct run_calls *ra, struct run_calls *rb)
{
	struct run_step *a = &ra->step[ra->first], *b = &rb->step[rb->first];
	uint32_t *partner = tool_alloc((a->n + 1) * sizeof(*partner));
	bool *used = tool_alloc(b->n + 1), open = is_step_open(ra) || is_step_open(rb);
	unsigned na, nb;

	if (a->few_calls || b->few_calls)
		match_recorded_calls(a, b, partner, used);
	else
		match_run_calls(a, b, partner, used);
	na = count_settled_calls(a, partner, open, &nb, b->n);
	for (unsigned i = 0; i < na; i++) {
		if (partner[i] != NO_PARTNER)
			add_call_pair(t, &a->call[i].e, &b->call[partner[i]].e, NULL, NULL);
		else if (has_unrecorded_partner(&a->call[i], a, b))
			count_unrecorded_call(t->sums, true);
		else
			add_call_pair(t, &a->call[i].e, NULL, NULL, NULL);
	}
	t->sums->calls_b += nb;
	for (unsigned k = 0; k < nb; k++) {
		if (used[k])
			continue;
		if (has_unrecorded_partner(&b->call[k], b, a))
			count_unrecorded_call(t->sums, false);
		else
			add_call_without_partner(t, &b->call[k].e);
	}
	remove_run_calls(ra, na < a->n ? na : UINT32_MAX);
	remove_run_calls(rb, nb < b->n ? nb : UINT32_MAX);
	free(partner);
	free(used);
}

static void write_lone_step(
	struct diff_table *t, struct run_calls *r, const struct run_calls *other, bool of_a)
{
	struct run_step *s = &r->step[r->first];

	for (unsigned i = 0; i < s->n; i++) {
		if (meta_step_is_thinned(other->meta, s->step, true, false))
			count_unrecorded_call(t->sums, of_a);
		else if (of_a)
			add_call_pair(t, &s->call[i].e, NULL, NULL, NULL);
		else
			add_call_without_partner(t, &s->call[i].e);
	}
	if (!of_a)
		t->sums->calls_b += s->n;
	remove_run_calls(r, UINT32_MAX);
}

static bool has_checksums(const struct run_step *s)
{
	for (unsigned i = 0; s && i < s->n; i++)
		for (unsigned k = 0; k < s->call[i].e.n; k++)
			if (!s->call[i].e.item[k].scalar && s->call[i].e.item[k].crc)
				return true;
	return false;
}

static void record_run_losses(
	struct comparison *c, const struct run_calls *r, const char *side_name)
{
	const struct calls *s = &r->calls;

	if (s->wrong)
		add_compare_note(c, "%s", s->wrong);
	if (s->damaged + s->truncated)
		add_compare_note(c, "%s: %" PRIu64 " damaged lines were skipped", side_name,
			s->damaged + s->truncated);
	if (r->late)
		add_compare_note(c,
			"%s: %" PRIu64 " calls were written long after their step and "
			"skipped",
			side_name, r->late);
}

static void compare_run_steps(struct diff_table *t, struct run_calls *a, struct run_calls *b)
{
	for (;;) {
		struct run_step *x = read_run_step(a), *y = read_run_step(b);

		if (!x && !y)
			break;
		if (x && y && x->step == y->step)
			write_run_step(t, a, b);
		else if (!y || (x && x->step < y->step))
			write_lone_step(t, a, b, true);
		else
			write_lone_step(t, b, a, false);
	}
}

bool is_rank_gone(const struct rank_dir *d)
{
	return d->state == RANK_KILLED || (d->state == RANK_UNWRITTEN && !d->lives);
}

static void open_run_side(struct comparison *c, struct run_calls *r, const struct rank_dir *d,
	uint32_t rank, struct overlay *o)
{
	char *problem = is_rank_gone(d) ? overlay_open(o, d) : NULL;

	if (problem)
		add_compare_note(c, "%s: %s", d->path, problem);
	free(problem);
	open_run_calls(r, d, rank, o, &c->steps);
}

static int compare_rank_folders(
	struct comparison *c, const struct rank_dir *da, const struct rank_dir *db, uint32_t rank)
{
	struct overlay oa = {0}, ob = {0};
	struct run_calls a, b;
	struct diff_table t;
	enum compare_mode mode = COMPARE_STATISTICS;
	int status = STATUS_USAGE;

	open_run_side(c, &a, da, rank, &oa);
	open_run_side(c, &b, db, rank, &ob);
	match_run_comms(&a, &b);
	if (c->exact && has_checksums(read_run_step(&a)) && has_checksums(read_run_step(&b)))
		mode = COMPARE_CHECKSUM;
	else if (c->exact)
		add_compare_note(c,
			"no checksums on both sides: --exact compares the statistics as "
			"they are printed (record with checksum: crc32 for more)");
	if (open_diff_table(&t, c, add_rank_sums(c, -1, da->rank), mode, true, true) == 0) {
		compare_run_steps(&t, &a, &b);
		status = close_diff_table(&t, true) ? STATUS_USAGE : STATUS_DONE;
	}
	compare_numbers(c, da, &oa, db, &ob);
	record_run_losses(c, &a, "A");
	record_run_losses(c, &b, "B");
	close_run_calls(&a);
	close_run_calls(&b);
	overlay_remove(&oa);
	overlay_remove(&ob);
	return status;
}

static const struct rank_dir *find_rank_dir(const struct folders *f, int rank)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->dir[i].rank == rank)
			return &f->dir[i];
	return NULL;
}

static bool are_steps_marked(const struct folders *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (meta_has_steps(&f->dir[i].meta))
			return true;
	return false;
}

static void record_lone_ranks(struct comparison *c, const struct folders *f,
	const struct folders *other, const char *side_name, uint64_t *calls)
{
	for (unsigned i = 0; i < f->n; i++)
		if (!find_rank_dir(other, f->dir[i].rank) &&
			is_number_wanted(&c->ranks, f->dir[i].rank)) {
			c->unpaired_places++;
			*calls += c->steps.n ? 0 : f->dir[i].meta.recorded;
			add_compare_note(c, "only %s has %s", side_name, f->dir[i].label);
		}
	for (unsigned i = 0; i < f->nout; i++)
		add_compare_note(
			c, "%s: %s is skipped: %s", side_name, f->out[i].name, f->out[i].why);
}

static void record_unrecorded_note(struct comparison *c)
{
	uint64_t n = 0, a = 0, b = 0;
	char values[80] = "", calls[160] = "";

	for (unsigned i = 0; i < c->nsums; i++) {
		n += c->sums[i].unrecorded_values;
		a += c->sums[i].unrecorded_a;
		b += c->sums[i].unrecorded_b;
	}
	if (n)
		snprintf(values, sizeof(values), "%s that only one run measured",
			out_format_plural(n, "value", "values"));
	if (a || b)
		snprintf(calls, sizeof(calls), "%s of A and %s of B whose partner was not recorded",
			out_format_plural(a, "call", "calls"), out_format_count(b));
	if (*values || *calls)
		add_compare_note(c, "not compared because of max_overhead: %s%s%s", values,
			*values && *calls ? "; " : "", calls);
}

int compare_run_folders(struct comparison *c)
{
	struct folders a = {0}, b = {0};
	int status = STATUS_USAGE, s;

	if (folders_open(&a, c->a.path))
		return STATUS_USAGE;
	if (folders_open(&b, c->b.path)) {
		folders_close(&a);
		return STATUS_USAGE;
	}
	status = STATUS_DONE;
	c->unmarked_a = !are_steps_marked(&a);
	c->unmarked_b = !are_steps_marked(&b);
	/*
	 * All calls of a run without marked steps are in step 0. They would be compared with the first
	 * step of the other run.
	 */
	if (c->unmarked_a != c->unmarked_b) {
		tool_error("compare: the steps of %s are marked, the steps of %s are not: calls "
			   "cannot be matched step by step. Record both runs with "
			   "PROBE_STEP_MARKER=<a function that is called once per step>",
			c->unmarked_a ? c->b.path : c->a.path,
			c->unmarked_a ? c->a.path : c->b.path);
		folders_close(&a);
		folders_close(&b);
		return STATUS_USAGE;
	}
	for (unsigned i = 0; i < a.n; i++) {
		const struct rank_dir *d = &a.dir[i];
		const struct rank_dir *e =
			a.single && b.single ? &b.dir[0] : find_rank_dir(&b, d->rank);

		if (!e || !is_number_wanted(&c->ranks, d->rank))
			continue;
		s = compare_rank_folders(c, d, e, i);
		if (s != STATUS_DONE)
			status = s;
	}
	record_unrecorded_note(c);
	if (!(a.single && b.single)) {
		record_lone_ranks(c, &a, &b, "A", &c->lone_a);
		record_lone_ranks(c, &b, &a, "B", &c->lone_b);
	}
	if (!c->nsums) {
		tool_error("compare: %s and %s: no rank has a folder in both; `probe report` lists "
			   "the ranks of each",
			c->a.path, c->b.path);
		status = STATUS_USAGE;
	}
	folders_close(&a);
	folders_close(&b);
	return status;
}
