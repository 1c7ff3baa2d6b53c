/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/step_numbers.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/scalar.h"
#include "tools/lib/files/csv.h"
#include "tools/lib/intern.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/scalar_rows.h"

/* relative; six digits are printed, in which a smaller difference is not visible */
#define SAME_NUMBER 1e-6

/* How the scalars of a step are added. */
struct number_adding {
	struct step_numbers *to;
	uint64_t from, per; /* per: number of steps that are combined; 0: one */
	uint32_t rank;
};

static void add_step_number(
	struct step_numbers *s, uint64_t step, const struct csv_text *name, double v, uint32_t rank)
{
	struct step_number *n = table_get(&s->table, step, intern_add_text(name->s, name->n));

	if (!n)
		return;
	if (isnan(v) && !n->nans++)
		n->nan = rank;
	if (!n->ranks || v < n->min || (isnan(n->min) && !isnan(v))) {
		n->min = v;
		n->lowest = rank;
	}
	if (!n->ranks || v > n->max || (isnan(n->max) && !isnan(v))) {
		n->max = v;
		n->highest = rank;
	}
	n->sum += v;
	n->ranks++;
}

static void add_number_row(
	void *arg, uint64_t step, const struct csv_text *name, double v, uint64_t wall_ns)
{
	struct number_adding *a = arg;

	(void)wall_ns;
	add_step_number(a->to, a->per ? step - (step - a->from) % a->per : step, name, v, a->rank);
}

static int compare_steps(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Returns the index of the name in the table of all scalars. Unknown names come after them. */
static unsigned place_of_name(const char *name)
{
	size_t n = strcspn(name, "/");
	unsigned i = 0;

	while (scalar_names[i] &&
		(strlen(scalar_names[i]) != n || memcmp(scalar_names[i], name, n)))
		i++;
	return i;
}

static int compare_names(const void *a, const void *b)
{
	const char *x = intern_get_name(*(const uint32_t *)a),
		   *y = intern_get_name(*(const uint32_t *)b);
	unsigned i = place_of_name(x), k = place_of_name(y);

	return i != k ? (i < k ? -1 : 1) : strcmp(x, y);
}

static bool is_known_name(const struct step_numbers *s, uint32_t name)
{
	for (unsigned i = 0; i < s->nname; i++)
		if (s->name[i] == name)
			return true;
	return false;
}

/* Lists the names, and the last `most` of the steps. */
static void list_steps(struct step_numbers *s, unsigned most)
{
	unsigned n = 0;

	s->step = tool_alloc((s->table.n + 1) * sizeof(*s->step));
	for (uint32_t i = 0; i < s->table.n; i++) {
		const struct step_number *k = table_at(&s->table, i);

		s->step[s->nstep++] = k->key.a;
		if (s->nname < 200 && !is_known_name(s, (uint32_t)k->key.b)) {
			TOOL_GROW(s->name, s->nname, s->cap_name);
			s->name[s->nname++] = (uint32_t)k->key.b;
		}
	}
	if (s->nname)
		qsort(s->name, s->nname, sizeof(*s->name), compare_names);
	qsort(s->step, s->nstep, sizeof(*s->step), compare_steps);
	for (unsigned i = 0; i < s->nstep; i++)
		if (!i || s->step[i] != s->step[i - 1])
			s->step[n++] = s->step[i];
	s->nstep = n < most ? n : most;
	memmove(s->step, s->step + (n - s->nstep), s->nstep * sizeof(*s->step));
}

void step_numbers_begin(struct step_numbers *s, uint32_t most)
{
	memset(s, 0, sizeof(*s));
	table_init(&s->table, sizeof(struct step_number), most);
}

void step_numbers_add(struct step_numbers *s, const char *dir, const struct overlay *o,
	uint32_t rank, uint64_t lo, uint64_t hi, uint64_t per)
{
	struct number_adding a = {s, lo, per, rank};

	read_scalar_rows(dir, o, lo, hi, add_number_row, &a);
}

void step_numbers_list(struct step_numbers *s)
{
	list_steps(s, UINT_MAX);
}

void step_numbers_read(struct step_numbers *s, const struct gather *g, uint64_t lo, uint64_t hi)
{
	bool all = lo == 0 && hi == UINT64_MAX, any = false;
	uint64_t last = 0;

	step_numbers_begin(s, STEP_NUMBERS_MAX);
	for (unsigned i = 0; i < g->folders.n; i++)
		any |= find_last_scalar_file(
			g->folders.dir[i].path, &g->rank[i].overlay, hi, &last);
	/* The last steps may be in two files. */
	if (all)
		lo = last > STEP_NUMBERS_SHOWN ? last - STEP_NUMBERS_SHOWN : 0;
	for (unsigned i = 0; any && i < g->folders.n; i++)
		step_numbers_add(s, g->folders.dir[i].path, &g->rank[i].overlay, i, lo, hi, 0);
	list_steps(s, all ? STEP_NUMBERS_SHOWN : STEP_NUMBERS_ASKED);
}

void step_numbers_free(struct step_numbers *s)
{
	table_free(&s->table);
	free(s->step);
	free(s->name);
}

const struct step_number *step_numbers_find(
	const struct step_numbers *s, uint64_t step, uint32_t name)
{
	return table_find(&s->table, step, name);
}

bool step_numbers_differ(uint32_t name, const struct step_number *n)
{
	if (!scalar_is_equal_on_ranks(intern_get_name(name)))
		return false;
	if (n->nans)
		return n->nans < n->ranks;
	return n->max - n->min > SAME_NUMBER * fmax(fabs(n->max), fabs(n->min));
}

/* Returns true if the ranks differ in the scalar in any of the steps shown. */
static bool is_ever_different(const struct step_numbers *s, uint32_t name, unsigned from)
{
	for (unsigned i = from; i < s->nstep; i++) {
		const struct step_number *n = step_numbers_find(s, s->step[i], name);

		if (n && step_numbers_differ(name, n))
			return true;
	}
	return false;
}

/* Returns the largest number of ranks that have the scalar in a step shown, or 0. */
static unsigned most_ranks_with(const struct step_numbers *s, uint32_t name, unsigned from)
{
	unsigned most = 0;

	for (unsigned i = from; i < s->nstep; i++) {
		const struct step_number *n = step_numbers_find(s, s->step[i], name);

		most = n && n->ranks > most ? n->ranks : most;
	}
	return most;
}

static void print_cell(const char *text)
{
	printf(" %12s", text);
}

/* Prints the line of the smallest or of the largest values, each with its rank. */
static void print_extreme(const struct step_numbers *s, const struct gather *g, uint32_t name,
	unsigned from, bool largest)
{
	char *label = tool_format("%s/%s", intern_get_name(name), largest ? "max" : "min");

	printf("  %-26s", label);
	free(label);
	for (unsigned i = from; i < s->nstep; i++) {
		const struct step_number *n = step_numbers_find(s, s->step[i], name);
		bool nan = n && largest && n->nans;
		uint32_t rank = !n ? 0 : nan ? n->nan : largest ? n->highest : n->lowest;
		char *cell;

		if (!n) {
			print_cell("-");
			continue;
		}
		cell = step_numbers_differ(name, n) ? tool_format("%.6g (%d)",
							      nan	? (double)NAN
							      : largest ? n->max
									: n->min,
							      g->folders.dir[rank].rank)
						    : tool_format("%.6g", n->min);
		print_cell(cell);
		free(cell);
	}
	putchar('\n');
}

void step_numbers_text(const struct step_numbers *s, const struct gather *g)
{
	unsigned from = s->nstep > STEP_NUMBERS_SHOWN ? s->nstep - STEP_NUMBERS_SHOWN : 0;

	if (!s->nstep)
		return;
	out_print_heading(
		"Numbers of the last steps, /mean: over the ranks that have one; /min, /max "
		"(rank): numbers on which ranks must agree and do not");
	printf("  %-26s", "step");
	for (unsigned i = from; i < s->nstep; i++)
		printf(" %12llu", (unsigned long long)s->step[i]);
	putchar('\n');
	for (unsigned k = 0; k < s->nname; k++) {
		unsigned ranks = most_ranks_with(s, s->name[k], from);
		char *label;

		if (!ranks)
			continue;
		if (is_ever_different(s, s->name[k], from)) {
			print_extreme(s, g, s->name[k], from, false);
			print_extreme(s, g, s->name[k], from, true);
			continue;
		}
		label = tool_format("%s%s", intern_get_name(s->name[k]),
			ranks > 1 && !scalar_is_equal_on_ranks(intern_get_name(s->name[k]))
				? "/mean"
				: "");
		printf("  %-26s", label);
		for (unsigned i = from; i < s->nstep; i++) {
			const struct step_number *n = step_numbers_find(s, s->step[i], s->name[k]);

			if (n)
				printf(" %12.6g", n->sum / n->ranks);
			else
				print_cell("-");
		}
		putchar('\n');
		free(label);
	}
}

void step_numbers_json(const struct step_numbers *s, const struct gather *g)
{
	json_list("scalars");
	for (unsigned i = 0; i < s->nstep; i++)
		for (unsigned k = 0; k < s->nname; k++) {
			const struct step_number *n = step_numbers_find(s, s->step[i], s->name[k]);

			if (!n)
				continue;
			json_object(NULL);
			json_u64("step", s->step[i]);
			json_string("name", intern_get_name(s->name[k]));
			if (step_numbers_differ(s->name[k], n))
				json_null("mean");
			else
				json_double("mean", n->sum / n->ranks);
			json_double("min", n->min);
			json_double("max", n->max);
			json_u64("ranks", n->ranks);
			json_string("lowest", g->folders.dir[n->lowest].label);
			json_string("highest", g->folders.dir[n->highest].label);
			json_end();
		}
	json_end();
}
