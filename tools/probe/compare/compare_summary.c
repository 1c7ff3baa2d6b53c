/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the result of a comparison as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"

#define RANKS_SHOWN 32
#define ODD_INPUTS_MAX (1u << 20)

/* ---- collectives whose inputs differ ---- */

struct odd_input *get_odd_input(struct comparison *c, const char *comm, int64_t seq)
{
	if (!c->odd_inputs.element)
		table_init(&c->odd_inputs, sizeof(struct odd_input), ODD_INPUTS_MAX);
	return table_get(&c->odd_inputs, hash_str(1, comm), (uint64_t)seq);
}

const struct odd_input *find_odd_input(const struct comparison *c, const struct first_diff *f)
{
	if (!c->odd_inputs.element || !f->comm || f->comm_seq < 0)
		return NULL;
	return table_find(&c->odd_inputs, hash_str(1, f->comm), (uint64_t)f->comm_seq);
}

void free_odd_inputs(struct comparison *c)
{
	if (!c->odd_inputs.element)
		return;
	for (uint32_t i = 0; i < c->odd_inputs.n; i++)
		free_first_diff(&((struct odd_input *)table_at(&c->odd_inputs, i))->first);
	table_free(&c->odd_inputs);
}

/* ---- the first difference ---- */

/*
 * If a result differs because the input of another rank differs, that input is the first
 * difference.
 */
static const struct first_diff *find_cause(const struct comparison *c, const struct first_diff *f)
{
	const struct odd_input *o = f->of_output ? find_odd_input(c, f) : NULL;

	return o && o->first.any ? &o->first : f;
}

static bool is_before(const struct first_diff *a, const struct first_diff *b)
{
	return a->step < b->step || (a->step == b->step && a->order < b->order);
}

/* Returns the first difference whose inputs are equal on all ranks. */
static const struct first_diff *find_origin(const struct comparison *c, const struct rank_sums *s)
{
	const struct first_diff *best = NULL;

	for (unsigned i = 0; i < s->norigin; i++)
		if (!find_odd_input(c, &s->origin[i]) && (!best || is_before(&s->origin[i], best)))
			best = &s->origin[i];
	return best;
}

static const struct first_diff *get_first_of_rank(
	const struct comparison *c, const struct rank_sums *s, enum diff_kind kind)
{
	const struct first_diff *f = kind == DIFF_FIRST	   ? &s->first
				     : kind == DIFF_ORIGIN ? find_origin(c, s)
							   : &s->blamed;

	return f && f->any ? f : NULL;
}

const struct first_diff *find_first_of_all(const struct comparison *c, enum diff_kind kind)
{
	const struct first_diff *best = NULL;

	for (unsigned i = 0; i < c->nsums; i++) {
		const struct first_diff *f = get_first_of_rank(c, &c->sums[i], kind);

		if (f && (!best || is_before(f, best)))
			best = f;
	}
	return best && kind == DIFF_FIRST ? find_cause(c, best) : best;
}

static struct rank_sums add_all_sums(const struct comparison *c)
{
	struct rank_sums all = {0};

	for (unsigned i = 0; i < c->nsums; i++) {
		const struct rank_sums *s = &c->sums[i];

		all.calls_a += s->calls_a;
		all.calls_b += s->calls_b;
		all.paired += s->paired;
		all.only_a += s->only_a;
		all.only_b += s->only_b;
		all.rows += s->rows;
		all.differing += s->differing;
		all.unwritten += s->unwritten;
		all.not_finite += s->not_finite;
		all.unrecorded_values += s->unrecorded_values;
		all.unrecorded_a += s->unrecorded_a;
		all.unrecorded_b += s->unrecorded_b;
		for (unsigned v = 0; v < VERDICTS; v++)
			all.calls[v] += s->calls[v];
	}
	return all;
}

/*
 * Returns true if fewer than half of the calls of one run were paired. Calls that the other run did not
 * record are not counted.
 */
static bool is_under_half_paired(const struct comparison *c, const struct rank_sums *total)
{
	return total->paired * 2 < total->calls_a - total->unrecorded_a + c->lone_a ||
	       total->paired * 2 < total->calls_b - total->unrecorded_b + c->lone_b;
}

/* Returns true if neither run has calls, as in a training that records only numbers. */
static bool has_only_numbers(const struct comparison *c, const struct rank_sums *total)
{
	return c->numbers && !(total->calls_a + c->lone_a + total->calls_b + c->lone_b);
}

static int report_nothing_compared(const struct comparison *c, const struct rank_sums *total)
{
	tool_error("compare: %s and %s: nothing was compared: A has %s calls in these steps and "
		   "ranks, B has %s, and none of them could be paired.",
		c->a.path, c->b.path, out_format_count(total->calls_a + c->lone_a),
		out_format_count(total->calls_b + c->lone_b));
	return STATUS_USAGE;
}

/* Printed first, because all results depend on it. */
static void print_paired_share(const struct comparison *c, const struct rank_sums *total)
{
	char *text;

	if (!is_under_half_paired(c, total))
		return;
	text = tool_format(
		"Only %s of %s calls in A and %s of %s in B could be paired: the results below are "
		"for these alone.",
		out_format_count(total->paired), out_format_count(total->calls_a + c->lone_a),
		out_format_count(total->paired), out_format_count(total->calls_b + c->lone_b));
	printf("%s", out_get_style(STYLE_WARN));
	out_print_wrapped(text, 0, 0);
	printf("%s\n", out_get_plain());
	free(text);
}

static int get_compare_status(const struct comparison *c, const struct rank_sums *total)
{
	bool other = c->exact && total->differing;

	if (has_only_numbers(c, total))
		return c->first_number.any || c->first_kind.any || c->unpaired_places
			       ? STATUS_PROBLEM
			       : STATUS_DONE;
	if (!total->paired)
		return STATUS_USAGE;
	if (is_under_half_paired(c, total))
		return STATUS_PROBLEM;
	return total->calls[VERDICT_ERROR] || total->calls[VERDICT_WARNING] || total->only_a ||
			       total->only_b || total->not_finite || c->unpaired_places ||
			       c->set_differs || other
		       ? STATUS_PROBLEM
		       : STATUS_DONE;
}

/* ---- text ---- */

static void print_place(int64_t step, int64_t rank)
{
	if (step >= 0)
		printf("step %" PRId64 ", ", step);
	if (rank >= 0)
		printf("rank %" PRId64 ", ", rank);
}

static void print_first(const struct first_diff *f, const char *title, enum style style)
{
	char *text;

	if (!f)
		return;
	printf("%s%s%s ", out_get_style(style), title, out_get_plain());
	print_place(f->step, f->rank);
	text = tool_format("%s, %s: %s", f->name, f->what, f->values);
	out_print_wrapped(text, 4, 4);
	free(text);
	if (f->other && strcmp(f->other, f->name) != 0)
		printf("    in B it is %s\n", f->other);
	if (f->param)
		printf("    parameter %s\n", f->param);
	if (f->line)
		printf("    made at %s\n", f->line);
	if (f->comm && *f->comm) {
		printf("    on %s", f->comm);
		if (f->comm_seq >= 0)
			printf(", its collective %" PRId64, f->comm_seq);
		printf("\n");
	}
}

static void print_rank_table(const struct comparison *c)
{
	static const char *const head[] = {"step", "rank", "calls in A", "in B", "paired", "only A",
		"only B", "pass", "warning", "error", "values that differ"};
	struct out_table t;
	char text[32];
	unsigned shown = 0;

	out_start_table(&t, 11, head, "rrrrrrrrrrr");
	for (unsigned i = 0; i < c->nsums && shown < RANKS_SHOWN; i++, shown++) {
		const struct rank_sums *s = &c->sums[i];

		snprintf(text, sizeof(text), "%" PRId64, s->step);
		out_add_cell(&t, s->step >= 0 ? text : "");
		snprintf(text, sizeof(text), "%" PRId64, s->rank);
		out_add_cell(&t, s->rank >= 0 ? text : "");
		out_add_cell(&t, out_format_count(s->calls_a));
		out_add_cell(&t, out_format_count(s->calls_b));
		out_add_cell(&t, out_format_count(s->paired));
		out_add_cell(&t, out_format_count(s->only_a));
		out_add_cell(&t, out_format_count(s->only_b));
		for (unsigned v = 0; v < VERDICTS; v++)
			out_add_cell(&t, out_format_count(s->calls[v]));
		out_add_cell(&t, out_format_count(s->differing));
	}
	out_print_table(&t);
	if (shown < c->nsums)
		printf("  ... and %u more\n", c->nsums - shown);
}

static void print_table_files(const struct comparison *c)
{
	unsigned n = 0;

	if (c->merged_path) {
		printf("\ntable: %s\n", c->merged_path);
		return;
	}
	for (unsigned i = 0; i < c->nsums; i++)
		n += c->sums[i].table != NULL;
	if (n == 1)
		printf("\ntable: %s\n", c->sums[0].table ? c->sums[0].table : c->out);
	else if (n)
		printf("\n%u tables in %s\n", n, c->out);
}

static bool is_same_place(const struct first_diff *a, const struct first_diff *b)
{
	return a->step == b->step && a->rank == b->rank && a->order == b->order &&
	       strcmp(a->what, b->what) == 0;
}

/*
 * Prints how many values differ in memory that may never have been written (torch.empty and views
 * of it). They are not counted; in a run that recorded nothing else they are the only differences.
 */
static void print_unwritten_count(const struct rank_sums *total)
{
	if (!total->unwritten)
		return;
	printf("%s %s in memory that torch.empty or a similar function returned, or in views of "
	       "it. It may never have been written, so it is not counted.\n",
		out_format_plural(total->unwritten, "value", "values"),
		total->unwritten == 1 ? "differs" : "differ");
}

static void print_first_number(const struct first_number *f, const char *title)
{
	char *text, *rank;

	if (!f->any)
		return;
	printf("%s%s%s ", out_get_style(STYLE_HEAD), title, out_get_plain());
	rank = f->rank < 0 ? tool_strdup("") : tool_format(", rank %d", f->rank);
	text = tool_format(
		"%s, step %" PRIu64 "%s: %.9g, in B %.9g", f->name, f->step, rank, f->a, f->b);
	free(rank);
	out_print_wrapped(text, 4, 4);
	free(text);
}

static void print_call_differences(struct comparison *c, const struct rank_sums *total, int status)
{
	const struct first_diff *first = find_first_of_all(c, DIFF_FIRST),
				*origin = find_first_of_all(c, DIFF_ORIGIN),
				*blamed = find_first_of_all(c, DIFF_BLAMED);

	print_rank_table(c);
	printf("\n");
	if (!first && status == STATUS_DONE) {
		printf("%sNo difference%s in %s of %s.\n", out_get_style(STYLE_GOOD),
			out_get_plain(),
			out_format_plural(total->rows - total->unwritten - total->unrecorded_values,
				"value", "values"),
			out_format_plural(total->paired, "call", "calls"));
		print_unwritten_count(total);
		return;
	}
	print_first(first, "First difference:", STYLE_HEAD);
	if (origin && (!first || !is_same_place(origin, first)))
		print_first(
			origin, "First call with equal inputs and different outputs:", STYLE_HEAD);
	if (blamed && first && is_same_place(blamed, first))
		printf("    which is %s\n",
			blamed->verdict == VERDICT_ERROR ? "an error" : "a warning");
	else if (blamed)
		print_first(blamed,
			blamed->verdict == VERDICT_ERROR ? "First error:" : "First warning:",
			blamed->verdict == VERDICT_ERROR ? STYLE_BAD : STYLE_WARN);
	else if (total->not_finite)
		printf("%s of NaN or Inf on one side only.\n",
			out_format_plural(total->not_finite, "value", "values"));
	else if (total->paired && !c->exact)
		printf("No value exceeds the limits of the rules.\n");
	print_unwritten_count(total);
}

int print_comparison(struct comparison *c)
{
	struct rank_sums all = add_all_sums(c);
	int status = get_compare_status(c, &all);

	if (!all.paired && !has_only_numbers(c, &all))
		return report_nothing_compared(c, &all);
	print_paired_share(c, &all);
	printf("A  ");
	out_print_clean(c->a.path);
	printf("\nB  ");
	out_print_clean(c->b.path);
	printf("\n\n");
	if (!has_only_numbers(c, &all))
		print_call_differences(c, &all, status);
	else if (status == STATUS_DONE)
		printf("%sNo difference%s in %s of steps and parameters; there are no calls.\n",
			out_get_style(STYLE_GOOD), out_get_plain(),
			out_format_plural(c->numbers, "number", "numbers"));
	print_first_number(&c->first_number, "First number of a step that differs:");
	print_first_number(&c->first_kind, "First parameter or gradient that differs:");
	for (unsigned i = 0; i < c->nnote; i++) {
		printf("note: ");
		out_print_wrapped(c->note[i], 6, 6);
	}
	print_table_files(c);
	return status;
}

/* ---- JSON ---- */

static void print_number_json(const char *key, const struct first_number *f)
{
	if (!f->any) {
		json_null(key);
		return;
	}
	json_object(key);
	json_u64("step", f->step);
	json_i64("rank", f->rank);
	json_string("name", f->name);
	json_double("a", f->a);
	json_double("b", f->b);
	json_end();
}

static void print_first_json(const char *key, const struct first_diff *f)
{
	if (!f) {
		json_null(key);
		return;
	}
	json_object(key);
	if (f->step >= 0)
		json_i64("step", f->step);
	if (f->rank >= 0)
		json_i64("rank", f->rank);
	json_string("call", f->name);
	json_string("call_b", f->other);
	json_string("item", f->what);
	json_string("text", f->values);
	json_string("result", verdict_words[f->verdict]);
	json_string("line", f->line);
	json_string("parameter", f->param);
	json_string("communicator", f->comm);
	if (f->comm_seq >= 0)
		json_i64("comm_seq", f->comm_seq);
	json_end();
}

static void print_sums_json(const struct rank_sums *s)
{
	json_u64("calls_a", s->calls_a);
	json_u64("calls_b", s->calls_b);
	json_u64("paired", s->paired);
	json_u64("only_a", s->only_a);
	json_u64("only_b", s->only_b);
	json_u64("rows", s->rows);
	json_u64("differing", s->differing);
	json_u64("unwritten", s->unwritten);
	json_u64("not_finite", s->not_finite);
	json_u64("unrecorded_values", s->unrecorded_values);
	json_u64("unrecorded_a", s->unrecorded_a);
	json_u64("unrecorded_b", s->unrecorded_b);
	for (unsigned v = 0; v < VERDICTS; v++)
		json_u64(verdict_words[v], s->calls[v]);
}

int print_comparison_json(struct comparison *c)
{
	struct rank_sums all = add_all_sums(c);
	int status = get_compare_status(c, &all);

	json_begin();
	json_object(NULL);
	json_u64("schema", 1);
	json_string("a", c->a.path);
	json_string("b", c->b.path);
	json_bool("same", status == STATUS_DONE && !all.differing);
	json_bool("under_half_paired", is_under_half_paired(c, &all));
	print_sums_json(&all);
	print_first_json("first", find_first_of_all(c, DIFF_FIRST));
	print_first_json("origin", find_first_of_all(c, DIFF_ORIGIN));
	print_first_json("blamed", find_first_of_all(c, DIFF_BLAMED));
	print_number_json("number", &c->first_number);
	print_number_json("kind", &c->first_kind);
	json_list("ranks");
	for (unsigned i = 0; i < c->nsums; i++) {
		const struct rank_sums *s = &c->sums[i];

		json_object(NULL);
		if (s->step >= 0)
			json_i64("step", s->step);
		if (s->rank >= 0)
			json_i64("rank", s->rank);
		print_sums_json(s);
		json_string("table", s->table);
		print_first_json("first", get_first_of_rank(c, s, DIFF_FIRST));
		print_first_json("origin", get_first_of_rank(c, s, DIFF_ORIGIN));
		print_first_json("blamed", get_first_of_rank(c, s, DIFF_BLAMED));
		json_end();
	}
	json_end();
	json_list("notes");
	for (unsigned i = 0; i < c->nnote; i++)
		json_string(NULL, c->note[i]);
	json_end();
	json_string("merged", c->merged_path);
	json_end();
	if (!all.paired && !has_only_numbers(c, &all))
		report_nothing_compared(c, &all);
	return status;
}
