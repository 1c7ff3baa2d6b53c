/* SPDX-License-Identifier: Apache-2.0 */
/* Compares folders of dump.json files: pairs the files, and then the calls in them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/progress.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/compare/entries/dump.h"
#include "tools/probe/compare/entries/layer_mapping.h"
#include "tools/probe/compare/sequence.h"

/* ---- pairs of calls ---- */

struct loose_count {
	struct table_key key;
	uint32_t a, b;
};

/*
 * Lists the functions that one side calls more often than the other: their numbers cannot be used
 * for pairing. Returns the number of calls of such functions.
 */
static unsigned find_uneven_calls(const struct dump *a, const struct dump *b, struct table *counts)
{
	struct loose_count *c;
	unsigned n = 0;

	for (unsigned i = 0; i < a->n; i++)
		if ((c = table_get(counts, a->key[i].loose, 0)))
			c->a++;
	for (unsigned i = 0; i < b->n; i++)
		if ((c = table_get(counts, b->key[i].loose, 0)))
			c->b++;
	for (uint32_t i = 0; i < counts->n; i++) {
		c = table_at(counts, i);
		n += c->a && c->b && c->a != c->b ? c->a : 0;
	}
	return n;
}

static bool is_uneven_call(const struct table *counts, uint64_t loose)
{
	const struct loose_count *c = table_find(counts, loose, 0);

	return c && c->a != c->b;
}

/* Sets the keys of one side, level by level: contents, stack, functions of the stack, name. */
static void set_level_keys(const struct dump *d, uint64_t *key[SEQUENCE_LEVELS])
{
	for (unsigned l = 0; l < SEQUENCE_LEVELS; l++)
		key[l] = tool_alloc(d->n * sizeof(**key));
	for (unsigned i = 0; i < d->n; i++) {
		const struct dump_key *k = &d->key[i];

		key[0][i] = hash_u64(hash_u64(k->loose, k->stack), k->content) | 1;
		key[1][i] = hash_u64(k->loose, k->stack) | 1;
		key[2][i] = hash_u64(k->loose, k->frames) | 1;
		key[3][i] = k->loose | 1;
	}
}

static void match_uneven_calls(
	struct dump *a, struct dump *b, const struct table *counts, uint32_t *partner)
{
	uint64_t *key_a[SEQUENCE_LEVELS], *key_b[SEQUENCE_LEVELS];
	uint32_t *by_order = tool_alloc((a->n + 1) * sizeof(*by_order));

	compute_stack_hashes(a);
	compute_stack_hashes(b);
	set_level_keys(a, key_a);
	set_level_keys(b, key_b);
	match_keys(key_a, a->n, key_b, b->n, by_order);
	for (unsigned i = 0; i < a->n; i++)
		if (is_uneven_call(counts, a->key[i].loose))
			partner[i] = by_order[i];
	free(by_order);
}

static uint32_t *match_dump_calls(struct comparison *c, struct dump *a, struct dump *b)
{
	uint32_t *partner = tool_alloc((a->n + 1) * sizeof(*partner));
	struct table counts;
	unsigned uneven;

	for (unsigned i = 0; i < a->n; i++)
		partner[i] = find_dump_exact(b, a->key[i].exact);
	if (c->by_name)
		return partner;
	table_init(&counts, sizeof(struct loose_count), UINT32_MAX);
	uneven = find_uneven_calls(a, b, &counts);
	if (uneven) {
		match_uneven_calls(a, b, &counts, partner);
		add_compare_note(c,
			"functions with different numbers of calls on the two sides are "
			"paired by the order and place of their calls, not by their "
			"numbers, which are shifted (--by-name: by numbers, as msprobe "
			"does)");
	}
	table_free(&counts);
	return partner;
}

/* ---- one rank of one step ---- */

static enum compare_mode get_compare_mode(
	struct comparison *c, const struct dump *a, const struct dump *b)
{
	bool tensors_a = a->task && strcmp(a->task, "tensor") == 0;
	bool tensors_b = b->task && strcmp(b->task, "tensor") == 0;

	if (tensors_a && tensors_b)
		return COMPARE_TENSOR;
	if (c->metric)
		add_compare_note(c, "--metric: nothing was measured: "
				    "it needs two dumps of task `tensor`");
	if (tensors_a != tensors_b)
		add_compare_note(c, "only %s has the tensors' elements: statistics are compared",
			tensors_a ? "A" : "B");
	if (a->has_crc && b->has_crc)
		return COMPARE_CHECKSUM;
	if (a->has_crc != b->has_crc)
		add_compare_note(c, "only %s has checksums: statistics are compared",
			a->has_crc ? "A" : "B");
	if (c->exact)
		add_compare_note(c, "no checksums: --exact compares the statistics as they are "
				    "printed (record with summary_mode md5 for more)");
	return COMPARE_STATISTICS;
}

/*
 * With a mapping, each item has its own partner. The partners of a call's items may belong to several
 * calls of B.
 */
static bool write_mapped_call(struct diff_table *t, struct comparison *c, struct dump *b,
	const struct entry *a, const char *dir_a, const char *dir_b)
{
	const struct item **partner = tool_alloc((a->n + 1) * sizeof(*partner));
	struct entry *of = tool_alloc((a->n + 1) * sizeof(*of));
	unsigned nof = 0, k, m;
	bool good = true;

	for (unsigned i = 0; i < a->n && good; i++) {
		const char *name = map_item_name(c->mapping, a->name, &a->item[i]);
		size_t n = name ? strlen(name) : 0;

		/* Finds the longest prefix that is the name of a call. */
		for (k = UINT32_MAX; n && k == UINT32_MAX;) {
			k = find_dump_call(b, name, n);
			while (k == UINT32_MAX && n && name[--n] != '.')
				;
		}
		if (k == UINT32_MAX)
			continue;
		for (m = 0; m < nof && of[m].number != k; m++)
			;
		if (m == nof) {
			if (!(good = load_dump_entry(b, k, &of[m])))
				break;
			nof++;
		}
		for (unsigned j = 0; j < of[m].n; j++)
			if (strcmp(of[m].item[j].name, name) == 0)
				partner[i] = &of[m].item[j];
	}
	if (good)
		add_item_pairs(t, a, partner, nof ? &of[0] : NULL, dir_a, dir_b);
	for (m = 0; m <= nof && m <= a->n; m++)
		free_entry(&of[m]);
	free(of);
	free(partner);
	return good;
}

static bool write_dump_calls(struct diff_table *t, struct comparison *c, struct dump *a,
	struct dump *b, const uint32_t *partner)
{
	bool *used = tool_alloc(b->n + 1), good = true;
	struct entry x = {0}, y = {0};

	for (unsigned i = 0; i < a->n && good; i++) {
		uint32_t k = partner[i];

		if (!(good = load_dump_entry(a, i, &x)))
			break;
		if (c->mapping) {
			good = write_mapped_call(t, c, b, &x, a->tensors, b->tensors);
			continue;
		}
		if (k != NO_PARTNER && !(good = load_dump_entry(b, k, &y)))
			break;
		if (k != NO_PARTNER)
			used[k] = true;
		add_call_pair(t, &x, k == NO_PARTNER ? NULL : &y, a->tensors, b->tensors);
	}
	t->sums->calls_b = b->n;
	for (unsigned k = 0; k < b->n && good && !c->mapping; k++)
		if (!used[k] && (good = load_dump_entry(b, k, &y)))
			add_call_without_partner(t, &y);
	free_entry(&x);
	free_entry(&y);
	free(used);
	return good;
}

static int compare_dump_files(
	struct comparison *c, const struct dump_place *pa, const struct dump_place *pb)
{
	struct rank_sums *sums = add_rank_sums(c, pa->step, pa->rank);
	struct diff_table t = {0};
	struct dump a = {0}, b = {0};
	int status = STATUS_USAGE;
	uint32_t *partner = NULL;
	bool kept = false;

	if (open_dump(&a, pa->path, true) || open_dump(&b, pb->path, true))
		goto out;
	if (c->layer_mapping) {
		free_mapping(c->mapping);
		c->mapping = mapping_init();
		if (map_layers(c->mapping, c->layer_mapping, &a, &b))
			goto out;
	}
	c->mode = get_compare_mode(c, &a, &b);
	partner = match_dump_calls(c, &a, &b);
	if (open_diff_table(&t, c, sums, c->mode, a.has_stack, false))
		goto out;
	kept = write_dump_calls(&t, c, &a, &b, partner);
	if (close_diff_table(&t, kept) == 0 && kept)
		status = STATUS_DONE;
	if (a.skipped || b.skipped)
		add_compare_note(c,
			"%" PRIu64 " entries were skipped: their names are not names of calls",
			a.skipped + b.skipped);
out:
	if (a.why || b.why)
		tool_error("compare: %s", a.why ? a.why : b.why);
	free(partner);
	close_dump(&a);
	close_dump(&b);
	return status;
}

/* ---- all files ---- */

static const struct dump_place *find_same_place(
	const struct compared *s, const struct dump_place *p, bool any_step)
{
	const char *file = strrchr(p->path, '/');

	for (unsigned i = 0; i < s->ndump; i++) {
		const struct dump_place *q = &s->dump[i];
		const char *other = strrchr(q->path, '/');

		if (q->rank == p->rank && (any_step || q->step == p->step) &&
			strcmp(file ? file : p->path, other ? other : q->path) == 0)
			return q;
	}
	return NULL;
}

static bool has_single_step(const struct compared *s)
{
	return s->dump[0].step == s->dump[s->ndump - 1].step;
}

static void record_missing_places(struct comparison *c, const struct compared *s,
	const struct compared *other, bool any_step, const char *side_name)
{
	for (unsigned i = 0; i < s->ndump; i++) {
		const struct dump_place *p = &s->dump[i];

		if (find_same_place(other, p, any_step) || !is_number_wanted(&c->steps, p->step) ||
			!is_number_wanted(&c->ranks, p->rank))
			continue;
		c->unpaired_places++;
		add_compare_note(c, "only %s has %s", side_name, p->path);
	}
}

int compare_dump_folders(struct comparison *c)
{
	bool one = c->a.ndump == 1 && c->b.ndump == 1;
	bool any_step = has_single_step(&c->a) && has_single_step(&c->b);
	int status = STATUS_DONE, s;

	for (unsigned i = 0; i < c->a.ndump; i++) {
		const struct dump_place *p = &c->a.dump[i],
					*q = one ? &c->b.dump[0]
						 : find_same_place(&c->b, p, any_step);

		if (!q || !is_number_wanted(&c->steps, p->step) ||
			!is_number_wanted(&c->ranks, p->rank))
			continue;
		s = compare_dump_files(c, p, q);
		if (s != STATUS_DONE)
			status = s;
	}
	if (!one) {
		record_missing_places(c, &c->a, &c->b, any_step, "A");
		record_missing_places(c, &c->b, &c->a, any_step, "B");
	}
	if (!c->nsums) {
		tool_error(
			"compare: %s and %s: no folder step<N>/rank<R> with a dump.json is in both",
			c->a.path, c->b.path);
		return STATUS_USAGE;
	}
	return status;
}
