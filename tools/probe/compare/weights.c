/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/weights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "journal/columns.h"
#include "tools/lib/files/json.h"
#include "tools/lib/out.h"
#include "tools/lib/table.h"
#include "tools/lib/tool.h"
#include "tools/probe/compare/entries/compare.h"
#include "tools/probe/model/read/calls.h"

#define WEIGHTS_MAX (1u << 20)
#define VALUES_MAX (1u << 22) /* values beyond it are only counted */
#define SHOWN_MAX 20

/* A point in time in a program. Calls without a step belong to the last step. */
struct moment {
	uint64_t step, seq;
	bool any;
};

/* Bytes of a tensor with this checksum, wherever they occurred in B. Key: checksum, bytes. */
struct seen_value {
	struct table_key key;
	struct moment received, loaded;
};

/* A value that a weight had. Values are in the order of time. */
struct weight_value {
	uint64_t crc, bytes;
};

/* Key: hash of the name, rank. */
struct weight {
	struct table_key key;
	const char *name;
	int rank;
	struct weight_value *value;
	unsigned n, cap;
	struct moment last; /* time at which its newest value was seen */
	struct moment sent;
	struct weight_value sent_value;
};

enum weight_verdict { WEIGHT_SAME, WEIGHT_SKIPPED, WEIGHT_STALE, WEIGHT_DIFFERS, WEIGHT_MISSING };

static const struct {
	char word[12];
	const char *help;
} verdicts[] = {
	[WEIGHT_SAME] = {"same", "B has it"},
	[WEIGHT_SKIPPED] = {"skipped", "the last transfer skipped it"},
	[WEIGHT_STALE] = {"stale", "B has an older value of it"},
	[WEIGHT_DIFFERS] = {"differs", "B has other bytes under this name"},
	[WEIGHT_MISSING] = {"missing", "B has never received it"},
};
#define VERDICTS (sizeof(verdicts) / sizeof(*verdicts))

struct weights {
	struct table a; /* struct weight */
	struct table b_values; /* struct seen_value */
	struct table b_names; /* struct weight; the rank in its key is -1 */
	struct pool names;
	const struct ranges *steps;
	bool of_b;
	int rank;
	uint64_t lost, sums; /* lost: values that did not fit; sums: rows with a checksum */
};

/* ---- rows ---- */

static bool is_later(const struct moment *a, const struct moment *b)
{
	return !b->any || a->step > b->step || (a->step == b->step && a->seq >= b->seq);
}

static bool parse_sum(const struct csv_text *t, uint64_t *sum)
{
	char text[24], *end;

	if (!t->n || t->n >= sizeof(text))
		return false;
	memcpy(text, t->s, t->n);
	text[t->n] = 0;
	*sum = strtoull(text, &end, 16);
	return !*end;
}

/* Returns true for a parameter, false for a gradient or a bucket of several. */
static bool is_weight_name(const char *name)
{
	size_t n = strlen(name);

	if (!n || (n > 5 && strcmp(name + n - 5, ".grad") == 0))
		return false;
	return strncmp(name, "bucket", 6) != 0 || strspn(name + 6, "0123456789") != n - 6 || n == 6;
}

static struct weight *get_weight(
	struct weights *w, struct table *weight_table, const char *name, int rank)
{
	struct weight *x = table_get(weight_table, hash_str(0, name), (uint64_t)(rank + 1));

	if (x && !x->name) {
		x->name = pool_copy_text(&w->names, name);
		x->rank = rank;
	}
	return x;
}

static bool is_equal_weight_value(const struct weight_value *a, const struct weight_value *b)
{
	return a->crc == b->crc && a->bytes == b->bytes;
}

/*
 * Adds v as the newest value, at the end of the list. If the list contains it already, it is moved to
 * the end.
 */
static void add_weight_value(struct weight *x, struct weight_value v, const struct moment *now)
{
	unsigned i = 0;

	while (i < x->n && !is_equal_weight_value(&x->value[i], &v))
		i++;
	if (i == x->n) {
		TOOL_GROW(x->value, x->n, x->cap);
		x->value[x->n++] = v;
	} else if (is_later(now, &x->last)) {
		memmove(x->value + i, x->value + i + 1, (x->n - i - 1) * sizeof(v));
		x->value[x->n - 1] = v;
	}
	if (is_later(now, &x->last))
		x->last = *now;
}

static void record_value_of_b(
	struct weights *w, struct weight_value v, const struct moment *now, bool received)
{
	struct seen_value *s = table_get(&w->b_values, v.crc, v.bytes);
	struct moment *m;

	if (!s) {
		w->lost++;
		return;
	}
	m = received ? &s->received : &s->loaded;
	if (is_later(now, m))
		*m = *now;
}

static void read_weight_row(void *arg, struct calls *s, const struct call *c)
{
	const struct csv_text *io = calls_get_column(s, COL_io),
			      *name = calls_get_column(s, COL_name);
	struct weights *w = arg;
	struct weight_value v;
	struct moment now = {.step = c->step, .seq = c->seq, .any = true};
	struct weight *x;
	char *text;

	if (!io->n || !ranges_has(w->steps, c->step) ||
		!parse_sum(calls_get_column(s, COL_crc32), &v.crc) ||
		!csv_parse_u64(calls_get_column(s, COL_bytes), &v.bytes) || !v.bytes)
		return;
	w->sums++;
	if (w->of_b)
		record_value_of_b(w, v, &now, c->comm && io->s[0] == 'o');
	if (!name->n)
		return;
	text = csv_copy_field(name);
	x = is_weight_name(text)
		    ? get_weight(w, w->of_b ? &w->b_names : &w->a, text, w->of_b ? -1 : w->rank)
		    : NULL;
	if (x) {
		add_weight_value(x, v, &now);
		if (!w->of_b && c->comm && io->s[0] == 'i' && is_later(&now, &x->sent)) {
			x->sent = now;
			x->sent_value = v;
		}
	}
	free(text);
}

static int read_weight_side(struct weights *w, const char *path, const struct ranges *ranks)
{
	struct folders f = {0};

	w->sums = 0;
	if (folders_open(&f, path))
		return STATUS_USAGE;
	for (unsigned i = 0; i < f.n; i++) {
		struct calls calls;
		struct call c;
		struct overlay o = {0};

		w->rank = f.dir[i].rank;
		if (w->rank >= 0 && !ranges_has(ranks, (uint64_t)w->rank))
			continue;
		free(is_rank_gone(&f.dir[i]) ? overlay_open(&o, &f.dir[i]) : NULL);
		calls_open(&calls, &f.dir[i], i, &o);
		calls.row = read_weight_row;
		calls.row_arg = w;
		while (calls_read_next(&calls, &c))
			;
		calls_close(&calls);
		overlay_remove(&o);
	}
	folders_close(&f);
	if (w->sums)
		return STATUS_DONE;
	tool_error("compare: %s: no row has a checksum; record with PROBE_CHECKSUM=crc32", path);
	return STATUS_USAGE;
}

/* ---- the result for each weight ---- */

struct weight_result {
	enum weight_verdict verdict;
	const struct seen_value *b; /* the value of A that B has; NULL: B has none of A's values */
	/* had: A's entry for that value. want: the value that B should have. */
	const struct weight_value *had, *want;
	const struct weight *other; /* B's tensor with this name; NULL: none */
};

static const struct seen_value *find_value_in_b(
	const struct weights *w, const struct weight_value *v)
{
	return table_find(&w->b_values, v->crc, v->bytes);
}

/* transfer: the step of A's last transfer of weights; transfer->any is false if there was none. */
static struct weight_result check_weight(
	const struct weights *w, const struct weight *x, const struct moment *transfer)
{
	struct weight_result r = {.want = &x->value[x->n - 1]};

	if (x->sent.any && x->sent.step == transfer->step)
		r.want = &x->sent_value;
	for (unsigned i = x->n; i-- > 0 && !r.b;)
		if ((r.b = find_value_in_b(w, &x->value[i])))
			r.had = &x->value[i];
	r.other = table_find(&w->b_names, x->key.a, 0);
	if (find_value_in_b(w, r.want)) {
		r.had = r.want;
		r.b = find_value_in_b(w, r.want);
		r.verdict = WEIGHT_SAME;
	}
	/* A weight that was not sent counts as skipped, unless A still had B's value after the transfer. */
	if (transfer->any && (!x->sent.any || x->sent.step < transfer->step) &&
		!(r.verdict == WEIGHT_SAME && r.b && x->last.step >= transfer->step))
		r.verdict = WEIGHT_SKIPPED;
	else if (!find_value_in_b(w, r.want))
		r.verdict = r.b ? WEIGHT_STALE : r.other ? WEIGHT_DIFFERS : WEIGHT_MISSING;
	return r;
}

/* Key: hash of the name; checksum of the newest value. */
struct replica {
	struct table_key key;
	uint32_t chosen; /* index + 1 of the weight that is judged for all replicas */
};

/*
 * Ranks that hold the same value under the same name are judged once, by a rank that sent it if
 * there is one.
 */
static void find_replicas(const struct weights *w, struct table *replicas)
{
	table_init(replicas, sizeof(struct replica), WEIGHTS_MAX);
	for (uint32_t i = 0; i < w->a.n; i++) {
		const struct weight *x = table_at(&w->a, i), *chosen;
		struct replica *r = table_get(replicas, x->key.a, x->value[x->n - 1].crc);

		if (!r)
			continue;
		chosen = r->chosen ? table_at(&w->a, r->chosen - 1) : NULL;
		if (!chosen || (x->sent.any && is_later(&x->sent, &chosen->sent)))
			r->chosen = i + 1;
	}
}

static bool is_replica_chosen(const struct weights *w, const struct table *replicas, uint32_t index)
{
	const struct weight *x = table_at(&w->a, index);
	const struct replica *r = table_find(replicas, x->key.a, x->value[x->n - 1].crc);

	return !r || r->chosen == index + 1;
}

static struct moment find_last_transfer(const struct weights *w)
{
	struct moment last = {.any = false};

	for (uint32_t i = 0; i < w->a.n; i++) {
		const struct weight *x = table_at(&w->a, i);

		if (x->sent.any && is_later(&x->sent, &last))
			last = x->sent;
	}
	return last;
}

/* ---- output ---- */

static char *format_moment(const struct moment *m)
{
	return m->any ? tool_format("step %llu", (unsigned long long)m->step) : tool_strdup("-");
}

static void print_weight(const struct weight *x, const struct weight_result *r, struct out_table *t)
{
	char sum[24] = "-", other[24] = "-";
	char *sent = format_moment(&x->sent);
	char *received = format_moment(r->b ? &r->b->received : &(struct moment){.any = false});
	char *loaded = format_moment(r->b ? &r->b->loaded : &(struct moment){.any = false});

	snprintf(sum, sizeof(sum), "%08llx", (unsigned long long)r->want->crc);
	if (r->had)
		snprintf(other, sizeof(other), "%08llx", (unsigned long long)r->had->crc);
	else if (r->other)
		snprintf(other, sizeof(other), "%08llx",
			(unsigned long long)r->other->value[r->other->n - 1].crc);
	out_add_cell(t, x->name);
	out_add_cell(t, verdicts[r->verdict].word);
	out_add_cell(t, sum);
	out_add_cell(t, sent);
	out_add_cell(t, other);
	out_add_cell(t, received);
	out_add_cell(t, loaded);
	free(sent);
	free(received);
	free(loaded);
}

static void print_moment_json(const char *key, const struct moment *m)
{
	if (m && m->any)
		json_u64(key, m->step);
	else
		json_null(key);
}

static void print_weight_json(const struct weight *x, const struct weight_result *r)
{
	char sum[24];

	json_object(NULL);
	json_string("name", x->name);
	json_i64("rank", x->rank);
	json_string("verdict", verdicts[r->verdict].word);
	snprintf(sum, sizeof(sum), "%08llx", (unsigned long long)r->want->crc);
	json_string("crc32", sum);
	print_moment_json("sent", &x->sent);
	if (r->had || r->other) {
		snprintf(sum, sizeof(sum), "%08llx",
			(unsigned long long)(r->had ? r->had->crc
						    : r->other->value[r->other->n - 1].crc));
		json_string("crc32_b", sum);
	} else {
		json_null("crc32_b");
	}
	print_moment_json("received", r->b ? &r->b->received : NULL);
	print_moment_json("loaded", r->b ? &r->b->loaded : NULL);
	json_end();
}

static int print_weights(const struct weights *w, bool json)
{
	static const char *const head[] = {
		"weight", "verdict", "in A", "sent", "in B", "received", "loaded"};
	struct moment transfer = find_last_transfer(w);
	uint64_t n[VERDICTS] = {0}, all = 0, shown = 0;
	struct out_table t;
	struct table replicas;

	find_replicas(w, &replicas);
	if (json) {
		json_begin();
		json_object(NULL);
		json_u64("schema", 1);
		print_moment_json("last_transfer", &transfer);
		json_list("weights");
	}
	for (int pass = json; pass < 2; pass++) {
		if (pass && !json) {
			printf("%s of A", out_format_plural(all, "weight", "weights"));
			for (unsigned v = 0; v < VERDICTS; v++)
				if (n[v])
					printf("%s %llu %s (%s)", v && n[0] != n[v] ? ";" : ":",
						(unsigned long long)n[v], verdicts[v].word,
						verdicts[v].help);
			printf(".\n");
			if (all == n[WEIGHT_SAME])
				break;
			out_start_table(&t, 7, head, "lllllll");
		}
		for (uint32_t i = 0; i < w->a.n; i++) {
			const struct weight *x = table_at(&w->a, i);
			struct weight_result r;

			if (!is_replica_chosen(w, &replicas, i))
				continue;
			r = check_weight(w, x, &transfer);
			if (json || !pass) {
				n[r.verdict]++;
				all++;
			}
			if (json)
				print_weight_json(x, &r);
			else if (pass && r.verdict != WEIGHT_SAME && shown++ < SHOWN_MAX)
				print_weight(x, &r, &t);
		}
		if (pass && !json)
			out_print_table(&t);
	}
	if (shown > SHOWN_MAX)
		printf("... and %llu more: --json has all\n",
			(unsigned long long)(shown - SHOWN_MAX));
	if (json) {
		json_end();
		for (unsigned v = 0; v < VERDICTS; v++)
			json_u64(verdicts[v].word, n[v]);
		json_end();
	}
	table_free(&replicas);
	return all == n[WEIGHT_SAME] ? STATUS_DONE : STATUS_PROBLEM;
}

static void free_weight_table(struct table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(((struct weight *)table_at(t, i))->value);
	table_free(t);
}

int check_weights(const char *path_a, const char *path_b, const struct ranges *ranks,
	const struct ranges *steps, bool json)
{
	struct weights w = {.steps = steps};
	int status;

	table_init(&w.a, sizeof(struct weight), WEIGHTS_MAX);
	table_init(&w.b_names, sizeof(struct weight), WEIGHTS_MAX);
	table_init(&w.b_values, sizeof(struct seen_value), VALUES_MAX);
	status = read_weight_side(&w, path_a, ranks);
	if (!status && !w.a.n) {
		tool_error("compare: %s: no row with a checksum has the name of a weight; record "
			   "with PROBE_NAMES=true",
			path_a);
		status = STATUS_USAGE;
	}
	w.of_b = true;
	if (!status)
		status = read_weight_side(&w, path_b, &(struct ranges){0});
	if (!status)
		status = print_weights(&w, json);
	if (w.lost)
		tool_warn("compare: %llu values of B did not fit: select fewer by --step",
			(unsigned long long)w.lost);
	free_weight_table(&w.a);
	free_weight_table(&w.b_names);
	table_free(&w.b_values);
	pool_free(&w.names);
	return status;
}
