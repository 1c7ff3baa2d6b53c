/* SPDX-License-Identifier: Apache-2.0 */
/* `probe compare --config-check`: meta.json, the first inputs and the first weights of each rank. */
#include "tools/probe/compare/setup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/files/csv.h"
#include "tools/lib/files/json.h"
#include "tools/lib/files/json_read.h"
#include "tools/lib/out.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/entry.h"
#include "tools/probe/compare/entries/run_calls.h"

#define META_MAX ((size_t)16 << 20)
#define DEPTH_MAX 32
#define FIRST_CALLS 8 /* number of first calls whose inputs are compared */

struct setup_value {
	struct table_key key; /* hash of the name */
	const char *name, *a, *b; /* NULL: not recorded */
};

struct setup_part {
	const char *title;
	struct table values;
	unsigned differing;
	bool any_a, any_b;
};

enum {
	PART_ENVIRONMENT,
	PART_PACKAGES,
	PART_ARGUMENTS,
	PART_SEEDS,
	PART_RECORD,
	PART_WEIGHTS,
	PART_INPUTS,
	PART_RANDOM,
	PARTS
};

struct setup {
	struct setup_part part[PARTS];
	struct pool pool;
};

static uint64_t compute_setup_name_hash(const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (const char *c = name; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	return h;
}

static void write_setup_value(
	struct setup *s, unsigned part, const char *name, const char *text, bool of_b)
{
	struct setup_part *p = &s->part[part];
	struct setup_value *v = table_get(&p->values, compute_setup_name_hash(name), strlen(name));

	if (!v)
		return;
	if (!v->name)
		v->name = pool_copy_text(&s->pool, name);
	*(of_b ? &v->b : &v->a) = pool_copy_text(&s->pool, text);
	*(of_b ? &p->any_b : &p->any_a) = true;
}

/* ---- meta.json ---- */

/* Returns true for values that differ in every run, or that are counts of records. */
static bool is_volatile_key(const char *name)
{
	static const char *const keys[] = {"owner", "journal_path", "run", "state", "calls",
		"own_time", "clock", "steps", "rows", "lost_rows", "removed_blocks", "journal",
		"first_record_ns", "last_record_ns", "missing", "end", "start", "pid", "scalars",
		"alerts", "alerts_checked", "invisible", "config.output_dir", "rank", "blocks",
		"next_seq", "resumed", "monitor_folder", "program", "switches",
		"environment.PROBE_OUTPUT_DIR", "environment.MASTER_PORT",
		"environment.MASTER_ADDR", "environment.LD_PRELOAD",
		"environment.TORCHELASTIC_RUN_ID", "environment.TORCHELASTIC_ERROR_FILE",
		"environment.OMPI_MCA_ess_base_jobid", "environment.SLURM_JOB_ID"};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (strcmp(name, keys[i]) == 0)
			return true;
	return strstr(name, "_ns") || strstr(name, "offset");
}

/* Members of meta.json that are compared as parts; the part's name is removed from the names. */
static const struct {
	const char *key;
	unsigned part;
} meta_parts[] = {
	{"environment.", PART_ENVIRONMENT},
	{"packages.", PART_PACKAGES},
	{"libraries.", PART_PACKAGES},
	{"reproducible.", PART_SEEDS},
	{"seeds.", PART_SEEDS},
};

static void write_meta_value(struct setup *s, const char *name, const char *text, bool of_b)
{
	for (unsigned i = 0; i < sizeof(meta_parts) / sizeof(*meta_parts); i++) {
		size_t n = strlen(meta_parts[i].key);

		if (strncmp(name, meta_parts[i].key, n) == 0) {
			write_setup_value(s, meta_parts[i].part, name + n, text, of_b);
			return;
		}
	}
	write_setup_value(s, PART_RECORD, name, text, of_b);
}

static void write_meta_values(
	struct setup *s, const char *name, const struct json_node *n, bool of_b, unsigned depth)
{
	unsigned k = 0;

	if (depth > DEPTH_MAX || is_volatile_key(name))
		return;
	if (n->kind == JSON_OBJECT) {
		for (const struct json_node *c = n->child; c; c = c->next->next)
			write_meta_values(s,
				pool_format(&s->pool, "%s%s%s", name, *name ? "." : "", c->text),
				c->next, of_b, depth + 1);
	} else if (n->kind == JSON_LIST) {
		for (const struct json_node *c = n->child; c; c = c->next, k++)
			write_meta_values(
				s, pool_format(&s->pool, "%s.%u", name, k), c, of_b, depth + 1);
	} else {
		write_meta_value(s, name,
			n->text			? n->text
			: n->kind == JSON_TRUE	? "true"
			: n->kind == JSON_FALSE ? "false"
						: "null",
			of_b);
	}
}

/*
 * Hyper-parameters of the command line. --lr 0.1, --lr=0.1, -b 8 and lr=0.1 are compared by name,
 * so that an additional one does not shift all others. Arguments without a name are compared by
 * position.
 */
static void write_arguments(struct setup *s, const struct json_node *list, bool of_b)
{
	unsigned place = 0;

	for (const struct json_node *c = list && list->kind == JSON_LIST ? list->child : NULL; c;
		c = c->next) {
		const char *text = c->text ? c->text : "", *is = strchr(text, '=');
		const char *next = c->next && c->next->text ? c->next->text : NULL;

		if (*text != '-' && !is) {
			write_setup_value(s, PART_ARGUMENTS,
				pool_format(&s->pool, "argument %u", place++), text, of_b);
		} else if (is) {
			write_setup_value(s, PART_ARGUMENTS,
				pool_copy(&s->pool, text, (size_t)(is - text)), is + 1, of_b);
		} else if (next && (*next != '-' || (next[1] >= '0' && next[1] <= '9'))) {
			write_setup_value(s, PART_ARGUMENTS, text, next, of_b);
			c = c->next;
		} else {
			write_setup_value(s, PART_ARGUMENTS, text, "given", of_b);
		}
	}
}

static bool read_setup_meta(struct setup *s, const char *folder, bool of_b)
{
	char *path = tool_format("%s/meta.json", folder), *why;
	struct json_tree t = {0};
	const struct json_node *n = json_load_tree(&t, path, META_MAX, &why);

	if (n) {
		write_meta_values(s, "", n, of_b, 0);
		write_arguments(s, json_get_member(n, "program"), of_b);
	} else {
		tool_error("compare: %s: %s", path, why);
	}
	free(why);
	free(path);
	json_tree_free(&t);
	return n != NULL;
}

/* ---- first weights ---- */

/* Returns the path of the lowest block param_origin_<a>-<b>.csv, malloc'd, or NULL. */
static char *find_first_weights(const char *folder)
{
	unsigned long long first, last, least = ~0ull;
	DIR *d = opendir(folder);
	char *found = NULL;

	for (struct dirent *e; d && (e = readdir(d));) {
		if (sscanf(e->d_name, "param_origin_%llu-%llu.csv", &first, &last) != 2 ||
			first >= least)
			continue;
		least = first;
		free(found);
		found = tool_format("%s/%s", folder, e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

/* Joins all fields of a row except name and step. */
static const char *join_weight_row(struct pool *p, const struct csv *c, int name, int step)
{
	size_t bytes = 1;
	char *out, *to;

	for (unsigned i = 0; i < c->ncolumns; i++)
		bytes += c->field[i].n + 1;
	to = out = pool_alloc(p, bytes);
	for (unsigned i = 0; i < c->ncolumns; i++) {
		if ((int)i == name || (int)i == step)
			continue;
		if (to > out)
			*to++ = ' ';
		memcpy(to, c->field[i].s, c->field[i].n);
		to += c->field[i].n;
	}
	*to = 0;
	return out;
}

static void read_first_weights(struct setup *s, const char *folder, bool of_b)
{
	char *path = find_first_weights(folder);
	uint64_t first = UINT64_MAX, v;
	struct csv c;
	int name, step;

	if (!path)
		return;
	if (csv_open(&c, path, UINT64_MAX, true, 65536) == 0) {
		name = csv_find_column(&c, "name");
		step = csv_find_column(&c, "step");
		while (name >= 0 && step >= 0 && csv_read_row(&c)) {
			if (!csv_parse_u64(csv_get_field(&c, step), &v))
				continue;
			if (first == UINT64_MAX)
				first = v;
			if (v != first)
				break;
			write_setup_value(s, PART_WEIGHTS,
				pool_copy(&s->pool, csv_get_field(&c, name)->s,
					csv_get_field(&c, name)->n),
				join_weight_row(&s->pool, &c, name, step), of_b);
		}
	}
	csv_close(&c);
	free(path);
}

/* ---- operators that draw random numbers ---- */

/* Whole names, or prefixes that end with a star. */
static const char random_operators[][24] = {"rand*", "normal*", "uniform*", "bernoulli*",
	"dropout*", "native_dropout*", "_fused_dropout*", "alpha_dropout*", "feature_dropout*",
	"multinomial*", "exponential*", "geometric*", "cauchy*", "log_normal*", "poisson*",
	"binomial*", "_standard_gamma*", "_sample_dirichlet*", "random_*", "random", "rrelu*"};

static bool is_random_operator(const char *op)
{
	for (unsigned i = 0; i < sizeof(random_operators) / sizeof(*random_operators); i++) {
		const char *word = random_operators[i];
		size_t n = strcspn(word, "*");

		if (strncmp(op, word, n) == 0 && (word[n] || !op[n]))
			return true;
	}
	return false;
}

/* Returns the operator's name in "aten.dropout.0", or NULL if it draws no random numbers. */
static const char *find_random_operator(const char *name)
{
	for (const char *dot; !is_random_operator(name); name = dot + 1)
		if (!(dot = strchr(name, '.')))
			return NULL;
	return name;
}

/* ---- first inputs ---- */

/*
 * Returns the length without the number in "Distributed.all_reduce.3.forward", which counts calls
 * in the order of their ends.
 */
static int measure_bare_name(const char *name)
{
	const char *p = name;

	while (*p && !(*p == '.' && p[1] >= '0' && p[1] <= '9'))
		p++;
	return (int)(p - name);
}

/* place: number of the call among those that were used. Returns false if no input has a meaning. */
static bool write_call_inputs(struct setup *s, const struct entry *e, unsigned place, bool of_b)
{
	bool some = false;

	/* These operators fill memory that may never have been written before. */
	if (find_random_operator(e->name))
		return false;
	for (unsigned k = 0; k < e->n; k++) {
		const struct item *x = &e->item[k];

		if (x->state != ITEM_INPUT)
			continue;
		some = true;
		write_setup_value(s, PART_INPUTS,
			pool_format(&s->pool, "call %u, %.*s, %s", place,
				measure_bare_name(e->name), e->name, x->tail),
			x->scalar ? x->stat[0].text
				  : pool_format(&s->pool, "%s %s max %s min %s mean %s norm %s",
					    x->dtype, x->shape, x->stat[STAT_MAX].text,
					    x->stat[STAT_MIN].text, x->stat[STAT_MEAN].text,
					    x->stat[STAT_NORM].text),
			of_b);
	}
	return some;
}

/* Reads the inputs of the first calls that have any. */
static void read_first_inputs(struct setup *s, const struct rank_dir *d, bool of_b)
{
	struct ranges all = {0};
	struct overlay none = {0};
	struct run_calls r;
	struct run_step *step;
	unsigned taken = 0;

	open_run_calls(&r, d, 0, &none, &all);
	while (taken < FIRST_CALLS && (step = read_run_step(&r))) {
		for (unsigned i = 0; i < step->n && taken < FIRST_CALLS; i++)
			taken += write_call_inputs(s, &step->call[i].e, taken, of_b);
		remove_run_calls(&r, UINT32_MAX);
	}
	close_run_calls(&r);
}

struct random_count {
	struct table_key key;
	const char *name;
	uint64_t calls;
};

/* Counts calls by operator and call site. */
static void add_random_calls(struct setup *s, const struct rank_dir *d, bool of_b)
{
	struct ranges all = {0};
	struct overlay none = {0};
	struct table counts;
	struct run_calls r;
	struct run_step *step;

	table_init(&counts, sizeof(struct random_count), 1u << 20);
	open_run_calls(&r, d, 0, &none, &all);
	while ((step = read_run_step(&r))) {
		for (unsigned i = 0; i < step->n; i++) {
			const struct entry *e = &step->call[i].e;
			const char *op = find_random_operator(e->name);
			struct random_count *c;
			const char *name;

			if (!op)
				continue;
			name = pool_format(&s->pool, "%.*s at %s", (int)strcspn(op, "."), op,
				e->line ? e->line : "(no stack)");
			c = table_get(&counts, compute_setup_name_hash(name), strlen(name));
			if (!c)
				continue;
			c->name = name;
			c->calls++;
		}
		remove_run_calls(&r, UINT32_MAX);
	}
	close_run_calls(&r);
	for (uint32_t i = 0; i < counts.n; i++) {
		const struct random_count *c = table_at(&counts, i);

		write_setup_value(s, PART_RANDOM, c->name,
			pool_format(&s->pool, "%llu calls", (unsigned long long)c->calls), of_b);
	}
	table_free(&counts);
}

/* ---- what differs ---- */

static const char *const titles[PARTS] = {
	[PART_ENVIRONMENT] = "environment",
	[PART_PACKAGES] = "packages",
	[PART_ARGUMENTS] = "arguments of the program",
	[PART_SEEDS] = "seeds",
	[PART_RECORD] = "configuration and record",
	[PART_WEIGHTS] = "first weights",
	[PART_INPUTS] = "first inputs",
	[PART_RANDOM] = "operators that draw random numbers",
};

/*
 * Facts that no record contains. They are listed so that their absence is not taken for equality.
 */
static const char lacking[] =
	"not in the records, so not compared: hyper-parameters that are neither arguments nor "
	"keys, environment variables unrelated to the job, seeds that the program sets and that no "
	"library exposes; operators that draw random numbers are compared where they were listed";

static bool is_value_different(const struct setup_value *v)
{
	return strcmp(v->a ? v->a : "", v->b ? v->b : "") != 0;
}

static void print_setup_part(struct setup_part *p, const char *title, const char *rank)
{
	for (uint32_t i = 0; i < p->values.n; i++)
		p->differing += is_value_different(table_at(&p->values, i));
	if (!p->any_a || !p->any_b) {
		printf("%s, %s: %s\n", rank, title,
			p->any_a || p->any_b ? "only one side has them" : "not recorded");
		return;
	}
	printf("%s, %s: %u values, %u differ\n", rank, title, p->values.n, p->differing);
	for (uint32_t i = 0; i < p->values.n; i++) {
		const struct setup_value *v = table_at(&p->values, i);

		if (!is_value_different(v))
			continue;
		printf("    ");
		out_print_clean(v->name);
		printf(": ");
		out_print_clean(v->a ? v->a : "(none)");
		printf(", in B ");
		out_print_clean(v->b ? v->b : "(none)");
		printf("\n");
	}
}

static void write_setup_part_json(struct setup_part *p, const char *title)
{
	json_object(title);
	json_bool("in_a", p->any_a);
	json_bool("in_b", p->any_b);
	json_u64("values", p->values.n);
	json_list("differ");
	for (uint32_t i = 0; i < p->values.n; i++) {
		const struct setup_value *v = table_at(&p->values, i);

		if (!is_value_different(v))
			continue;
		p->differing++;
		json_object(NULL);
		json_string("name", v->name);
		json_string("a", v->a);
		json_string("b", v->b);
		json_end();
	}
	json_end();
	json_end();
}

static unsigned compare_rank_setup(const struct rank_dir *a, const struct rank_dir *b, bool json)
{
	struct setup s = {0};
	unsigned differing = 0;

	for (unsigned i = 0; i < PARTS; i++)
		table_init(&s.part[i].values, sizeof(struct setup_value), 1u << 22);
	for (unsigned k = 0; k < 2; k++) {
		const struct rank_dir *d = k ? b : a;

		if (!read_setup_meta(&s, d->path, k))
			continue;
		read_first_weights(&s, d->path, k);
		read_first_inputs(&s, d, k);
		add_random_calls(&s, d, k);
	}
	if (json) {
		json_object(NULL);
		json_i64("rank", a->rank);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		if (json)
			write_setup_part_json(&s.part[i], titles[i]);
		else
			print_setup_part(&s.part[i], titles[i], a->label);
		differing += s.part[i].differing;
		table_free(&s.part[i].values);
	}
	if (json)
		json_end();
	pool_free(&s.pool);
	return differing;
}

int compare_setups(const char *path_a, const char *path_b, bool json)
{
	struct folders a = {0}, b = {0};
	unsigned differing = 0, paired = 0;

	if (folders_open(&a, path_a))
		return STATUS_USAGE;
	if (folders_open(&b, path_b)) {
		folders_close(&a);
		return STATUS_USAGE;
	}
	if (json) {
		json_begin();
		json_object(NULL);
		json_u64("schema", 1);
		json_list("ranks");
	}
	for (unsigned i = 0; i < a.n; i++)
		for (unsigned k = 0; k < b.n; k++)
			if (a.dir[i].rank == b.dir[k].rank) {
				differing += compare_rank_setup(&a.dir[i], &b.dir[k], json);
				paired++;
			}
	if (json) {
		json_end();
		json_string("not_compared", lacking);
		json_end();
	} else {
		out_print_wrapped(lacking, 0, 0);
	}
	if (!paired)
		tool_error("compare: %s and %s: no rank has a folder in both; `probe report` lists "
			   "the ranks of each",
			path_a, path_b);
	folders_close(&a);
	folders_close(&b);
	return !paired ? STATUS_USAGE : differing ? STATUS_PROBLEM : STATUS_DONE;
}
