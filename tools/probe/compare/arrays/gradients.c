/* SPDX-License-Identifier: Apache-2.0 */
/* `probe compare --grad`: the numbers of GradComparator of mindstudio-probe 8.1.0 (msprobe/core/grad_probe/grad_compare.py). */
#include "tools/probe/compare/arrays/gradients.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lib/out.h"
#include "tools/lib/target.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/arrays/arrays.h"
#include "tools/probe/compare/entries/entry.h"

#define AT_ONCE 4096u
/*
 * msprobe's thresholds. A fault is indicated by a share below FIRST_LEAST in the first step, or by a
 * share that falls by more than FALL_MOST from one step to the next.
 */
#define FIRST_LEAST 0.97
#define FALL_MOST 0.03

struct name_list {
	char **name;
	unsigned n, cap;
};

static int compare_numbered_names(const void *x, const void *y)
{
	const char *a = *(char *const *)x, *b = *(char *const *)y;
	const char *p = a + strcspn(a, "0123456789"), *q = b + strcspn(b, "0123456789");
	long long m = strtoll(p, NULL, 10), n = strtoll(q, NULL, 10);

	return m < n ? -1 : m > n ? 1 : strcmp(a, b);
}

static int compare_file_names(const void *x, const void *y)
{
	return strcmp(*(char *const *)x, *(char *const *)y);
}

static bool has_number_after(const char *name, const char *word)
{
	size_t n = strlen(word);

	return strncmp(name, word, n) == 0 && name[n] && !name[n + strspn(name + n, "0123456789")];
}

/*
 * Finds the names that occur in both folders. word: only names "<word><number>"; NULL: tensor files.
 */
static void find_common_names(struct name_list *l, const char *a, const char *b, const char *word)
{
	DIR *d = opendir(a);

	*l = (struct name_list){0};
	for (struct dirent *e; d && (e = readdir(d));) {
		char *other;
		bool wanted = word ? has_number_after(e->d_name, word) : is_array_name(e->d_name);

		if (!wanted)
			continue;
		other = tool_format("%s/%s", b, e->d_name);
		if (access(other, R_OK) == 0) {
			TOOL_GROW(l->name, l->n, l->cap);
			l->name[l->n++] = tool_strdup(e->d_name);
		}
		free(other);
	}
	if (d)
		closedir(d);
	if (l->n)
		qsort(l->name, l->n, sizeof(*l->name),
			word ? compare_numbered_names : compare_file_names);
}

static void free_names_list(struct name_list *l)
{
	for (unsigned i = 0; i < l->n; i++)
		free(l->name[i]);
	free(l->name);
}

struct sign_count {
	uint64_t same, all;
};

static const char *compute_same_signs(
	const struct array_file *a, const struct array_file *b, struct sign_count *c)
{
	struct array_reader *x, *y;
	double p[AT_ONCE], q[AT_ONCE];
	const char *why = NULL;
	unsigned n, m;

	if (a->n != 1 || b->n != 1 || a->array->dtype != DT_BOOL || b->array->dtype != DT_BOOL)
		return "each file must contain exactly one array of booleans";
	if (a->array->count != b->array->count)
		return "their numbers of elements differ";
	x = open_array(a, a->array);
	y = open_array(b, b->array);
	while ((n = read_elements(x, p, NULL, AT_ONCE)) &&
		(m = read_elements(y, q, NULL, n)) == n) {
		c->all += n;
		for (unsigned i = 0; i < n; i++)
			c->same += p[i] == q[i];
	}
	why = x->why ? x->why : y->why;
	close_array(x);
	close_array(y);
	return why;
}

static bool compare_sign_file(const char *a, const char *b, const char *name, struct sign_count *c)
{
	char *p = tool_format("%s/%s", a, name), *q = tool_format("%s/%s", b, name);
	struct array_file x = {.fd = -1}, y = {.fd = -1};
	const char *why = NULL;

	*c = (struct sign_count){0};
	if (open_array_file(&x, p) || open_array_file(&y, q))
		tool_error("compare: %s", x.why ? x.why : y.why);
	else if ((why = compute_same_signs(&x, &y, c)))
		tool_error("compare: %s and %s: %s", p, q, why);
	else
		why = "";
	close_array_file(&x);
	close_array_file(&y);
	free(p);
	free(q);
	return why && !*why;
}

/*
 * Writes the table of a rank: a column for each step, a row for each parameter, and a last row for
 * all parameters.
 */
static void write_sign_table(struct target *t, const struct name_list *steps,
	const struct name_list *params, const struct sign_count *c)
{
	char text[PYTHON_DOUBLE_MAX];

	target_write_text(t, "step");
	for (unsigned s = 0; s < steps->n; s++)
		target_print(t, ",%s", steps->name[s] + 4);
	for (unsigned k = 0; k <= params->n; k++) {
		const char *name = k < params->n ? params->name[k] : "summary";
		const char *dot = k < params->n ? strrchr(name, '.') : NULL;

		target_print(t, "\n%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
		for (unsigned s = 0; s < steps->n; s++) {
			const struct sign_count *v = &c[s * (params->n + 1) + k];

			target_print(t, ",%s",
				v->all ? format_python_double(
						 text, (double)v->same / (double)v->all)
				       : "0");
		}
	}
	target_write_text(t, "\n");
}

static bool print_sign_shares(
	const char *rank, const struct name_list *steps, unsigned width, const struct sign_count *c)
{
	double before = NAN;
	bool good = true;

	for (unsigned s = 0; s < steps->n; s++) {
		const struct sign_count *v = &c[s * width + width - 1];
		double share = v->all ? (double)v->same / (double)v->all : 0;
		const char *why = s == 0 && share < FIRST_LEAST ? "  below 97 % in the first step"
				  : s && before - share > FALL_MOST ? "  fell by more than 3 %"
								    : "";

		printf("%s, %s: %s of the signs are the same%s\n", rank, steps->name[s],
			out_format_percent(share), why);
		good &= !*why;
		before = share;
	}
	return good;
}

static int compare_rank_signs(const char *a, const char *b, const char *rank, const char *output)
{
	struct name_list steps, params = {0};
	struct sign_count *c = NULL;
	int status = STATUS_USAGE;
	unsigned width = 0;

	find_common_names(&steps, a, b, "step");
	for (unsigned s = 0; s < steps.n; s++) {
		char *p = tool_format("%s/%s", a, steps.name[s]);
		char *q = tool_format("%s/%s", b, steps.name[s]);

		if (!s) {
			find_common_names(&params, p, q, NULL);
			width = params.n + 1;
			c = tool_alloc((size_t)steps.n * width * sizeof(*c));
		}
		for (unsigned k = 0; k < params.n; k++) {
			struct sign_count *v = &c[s * width + k];

			if (!compare_sign_file(p, q, params.name[k], v)) {
				free(p);
				free(q);
				goto output;
			}
			c[s * width + width - 1].same += v->same;
			c[s * width + width - 1].all += v->all;
		}
		free(p);
		free(q);
	}
	if (!params.n) {
		tool_error(
			"compare: %s and %s: no step<N> folders with files of signs in both", a, b);
		goto output;
	}
	status = print_sign_shares(rank, &steps, width, c) ? STATUS_DONE : STATUS_PROBLEM;
	if (output) {
		char *path = tool_format("%s/%s/similarities.csv", output, rank);
		struct target t;

		if (target_open(&t, path)) {
			status = STATUS_USAGE;
		} else {
			write_sign_table(&t, &steps, &params, c);
			if (target_close(&t, true))
				status = STATUS_USAGE;
		}
		free(path);
	}
output:
	free_names_list(&steps);
	free_names_list(&params);
	free(c);
	return status;
}

int compare_gradients(const char *a, const char *b, const char *output)
{
	struct name_list ranks;
	int status = STATUS_DONE, s;

	find_common_names(&ranks, a, b, "rank");
	for (unsigned i = 0; i < ranks.n; i++) {
		char *p = tool_format("%s/%s", a, ranks.name[i]);
		char *q = tool_format("%s/%s", b, ranks.name[i]);

		s = compare_rank_signs(p, q, ranks.name[i], output);
		status = s > status ? s : status;
		free(p);
		free(q);
	}
	if (!ranks.n) {
		tool_error("compare: %s and %s: no folder rank<R> is in both", a, b);
		status = STATUS_USAGE;
	}
	free_names_list(&ranks);
	return status;
}
