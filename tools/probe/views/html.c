/* SPDX-License-Identifier: Apache-2.0 */
/* The page: page.html, with the data of the run in it as one JSON document. */
#include "tools/probe/views/html.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "terms/scalar.h"
#include "tools/lib/intern.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/measured.h"
#include "tools/probe/views/page_json.h"

/* The contents of page.html. views.mk makes this file depend on it. */
__asm__(".section .rodata\n"
	".globl html_page\n"
	".globl html_page_end\n"
	"html_page:\n"
	".incbin \"tools/probe/views/page.html\"\n"
	"html_page_end:\n"
	".byte 0\n"
	".previous\n");
extern const char html_page[], html_page_end[];

#define PLACE "@DATA@" /* in page.html, replaced by the data */

/*
 * Writes ns as 1 + 8192 log2(1 + us) in three digits of base64, the highest first; 0: none. Exact
 * to 0.01 %. Two matrices of a thousand ranks take 2 MB.
 */
static void write_code(struct target *t, double ns)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	double v = ns < 0 ? 0 : 1 + round(8192 * log2(1 + ns / 1000));
	unsigned code = v > 262143 ? 262143 : (unsigned)v;
	char out[3] = {digit[code >> 12], digit[code >> 6 & 63], digit[code & 63]};

	target_write(t, out, sizeof(out));
}

/* ---- parts ---- */

static void write_run(const struct html *h, struct target *t)
{
	const struct gather *g = &h->r->g;
	const struct meta *m = &g->folders.dir[0].meta;
	unsigned n[RANK_STATES] = {0}, some = 0;

	target_print(t, "\"schema\":1,\"version\":\"%s\"", PROBE_VERSION);
	write_page_string(t, "path", g->folders.path);
	write_page_string(t, "run", g->folders.run);
	write_page_string(t, "program", m->program);
	write_page_string(t, "begun", g->any ? out_format_date(g->first_ns) : "");
	write_page_u64(t, "first_ns", g->first_ns);
	write_page_u64(t, "duration_ns", g->any ? g->until_ns - g->first_ns : 0);
	write_page_u64(t, "calls", g->calls);
	write_page_u64(t, "rows", g->rows);
	write_page_u64(t, "bytes", g->bytes);
	write_page_u64(t, "hosts", g->hosts.nhost);
	write_page_u64(t, "step_first", g->first_step);
	write_page_u64(t, "step_last", g->last_step);
	write_page_string(t, "step_source", m->step_source);
	target_print(t, ",\"world_size\":%d,\"ranks\":[", g->folders.world_size);
	for (unsigned i = 0; i < g->folders.n; i++) {
		write_page_separator(t, i);
		target_print(t, "%d", g->folders.dir[i].rank);
		n[g->folders.dir[i].state]++;
	}
	target_write_text(t, "],\"states\":{");
	for (int s = 0; s < RANK_STATES; s++)
		if (n[s]) {
			write_page_separator(t, some++);
			target_print(t, "\"%s\":%u", rank_state_get_name((enum rank_state)s), n[s]);
		}
	target_write_text(t, "}");
}

static void write_verdict(const struct html *h, struct target *t)
{
	const struct run_verdict *v = &h->r->verdict;
	char *text = format_verdict(v), *detail = format_verdict_detail(v), *rest;

	write_page_key(t, "verdict");
	target_print(t, "{\"faults\":%u,\"warnings\":%u,\"incomplete\":%s", v->faults, v->warnings,
		v->incomplete ? "true" : "false");
	write_page_string(t, "text", text);
	write_page_key(t, "detail");
	target_write_text(t, "[");
	for (char *line = strtok_r(detail, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		write_page_separator(t, line > detail);
		target_write_json(t, line);
	}
	target_write_text(t, "]}");
	free(text);
	free(detail);
}

static void write_page_ranks(struct target *t, const char *key, const int *rank, unsigned n)
{
	write_page_key(t, key);
	target_write_text(t, "[");
	for (unsigned i = 0; i < n; i++) {
		write_page_separator(t, i);
		target_print(t, "%d", rank[i]);
	}
	target_write_text(t, "]");
}

static void write_findings(const struct html *h, struct target *t)
{
	write_page_key(t, "findings");
	target_write_text(t, "[");
	for (unsigned i = 0; i < h->r->nfinding; i++) {
		const struct finding *f = &h->r->finding[i];
		char *measured, *text = format_finding(f);
		int window = -1;

		for (unsigned k = 0; k < h->nwindow; k++)
			if (h->window[k].finding == i)
				window = (int)k;
		write_page_separator(t, i);
		target_print(t, "{\"window\":%d", window);
		write_page_string(t, "severity", severity_word(f->severity));
		write_page_string(t, "kind", f->kind);
		write_page_string(t, "text", text);
		free(text);
		write_page_ranks(t, "ranks", f->rank, f->nrank);
		write_page_ranks(t, "others", f->other, f->nother);
		write_page_string(t, "evidence", f->evidence);
		write_page_string(t, "next", f->next);
		measured = format_measurement(
			find_measurement(measurements, f->kind, severity_word(f->severity)));
		write_page_string(t, "measured", f->basis == BASIS_RECORDED ? NULL : measured);
		free(measured);
		target_write_text(t, "}");
	}
	target_write_text(t, "]");
}

/*
 * The strings of a window as small numbers, in the order of their first use. Ranks whose ids differ
 * share a string.
 */
struct html_words {
	struct table table, texts; /* texts: by the hash of the string */
	char **text;
	unsigned n, cap;
};

/* Returns the number of the string that make() returns for the key a, b; adds it at its first use. */
static unsigned add_window_word(
	struct html_words *w, uint64_t a, uint64_t b, char *(*make)(void *arg), void *arg)
{
	struct numbered {
		struct table_key key;
		unsigned number;
	} *k = table_get(&w->table, a, b), *same;
	char *text;

	if (!k)
		return 0;
	if (k->number)
		return k->number - 1;
	text = make(arg);
	same = table_get(&w->texts, hash_str(0, text), 2);
	if (same && same->number) {
		k->number = same->number;
		free(text);
	} else {
		TOOL_GROW(w->text, w->n, w->cap);
		w->text[w->n++] = text;
		k->number = w->n;
		if (same)
			same->number = w->n;
	}
	return k->number - 1;
}

static void init_word_list(struct html_words *w)
{
	*w = (struct html_words){0};
	table_init(&w->table, sizeof(struct table_key) + 2 * sizeof(unsigned), 65536);
	table_init(&w->texts, sizeof(struct table_key) + 2 * sizeof(unsigned), 65536);
}

static void write_page_words(struct html_words *w, struct target *t, const char *key)
{
	write_page_key(t, key);
	target_write_text(t, "[");
	for (unsigned i = 0; i < w->n; i++) {
		write_page_separator(t, i);
		target_write_json(t, w->text[i]);
		free(w->text[i]);
	}
	target_write_text(t, "]");
	free(w->text);
	table_free(&w->table);
	table_free(&w->texts);
}

struct word_of {
	struct html *h;
	const struct html_call *c;
};

static char *find_api_word(void *arg)
{
	const struct word_of *w = arg;

	return tool_strdup(intern_get_name(w->c->api));
}

static char *find_comm_word(void *arg)
{
	const struct word_of *w = arg;
	char label[COMM_LABEL_MAX];

	return tool_strdup(comm_format_label(&w->h->r->g.comms, w->c->comm, label));
}

static char *find_stack_word(void *arg)
{
	const struct word_of *w = arg;
	struct stacks *s = &w->h->r->stacks;

	return stack_brief(s, stacks_get(s, w->c->rank, w->c->stack), STACK_PAGE_FRAMES);
}

static int by_row_and_start(const void *x, const void *y)
{
	const struct html_call *a = x, *b = y;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void write_window(struct html *h, struct target *t, struct html_window *w)
{
	const struct gather *g = &h->r->g;
	struct html_words api, comm, stack;
	uint64_t base;

	if (w->n)
		qsort(w->call, w->n, sizeof(*w->call), by_row_and_start);
	base = w->n ? w->call[0].start : 0;
	init_word_list(&api);
	init_word_list(&comm);
	init_word_list(&stack);
	target_print(t, "{\"finding\":%d,\"step\":%llu,\"base_ns\":\"%llu\",\"at\":%lld",
		w->finding == UINT_MAX ? -1 : (int)w->finding, (unsigned long long)w->focus.step,
		(unsigned long long)base,
		w->focus.at_ns ? (long long)(int64_t)(w->focus.at_ns - base) / 100 : -1);
	write_page_u64(t, "skipped", w->skipped);
	write_page_ranks(t, "named", w->focus.rank, w->focus.n);
	write_page_u64(t, "culprits", w->focus.culprits);
	target_write_text(t, ",\"rows\":[");
	for (unsigned i = 0, some = 0; i < g->folders.n; i++)
		if (w->row[i] >= 0) {
			write_page_separator(t, some++);
			target_print(t, "%d", g->folders.dir[i].rank);
		}
	/* row, start and duration in units of 100 ns, api, comm, comm_seq, bits (1 open, 2 asynchronous, 4 error), step, bytes,
	   stack, seq, peer */
	target_write_text(t, "],\"calls\":[");
	for (unsigned i = 0; i < w->n; i++) {
		const struct html_call *c = &w->call[i];
		struct word_of of = {h, c};
		unsigned a = add_window_word(&api, c->api, 0, find_api_word, &of);
		unsigned k = add_window_word(&comm, c->comm, 1, find_comm_word, &of);
		unsigned s = add_window_word(&stack, c->rank, c->stack, find_stack_word, &of);

		target_print(t, "%s%d,%llu,%llu,%u,%u,%lld,%u,%llu,%llu,%u,%llu,%lld", i ? "," : "",
			w->row[c->rank], (unsigned long long)(c->start - base) / 100,
			(unsigned long long)c->dur / 100, a, k,
			c->comm_seq == NO_NUMBER ? -1 : (long long)c->comm_seq,
			c->bits & (CALL_OPEN | CALL_ASYNC | CALL_ERROR),
			(unsigned long long)c->step, (unsigned long long)c->bytes, s,
			(unsigned long long)c->seq, c->peer == NO_NUMBER ? -1 : (long long)c->peer);
	}
	target_write_text(t, "]");
	write_page_words(&api, t, "apis");
	write_page_words(&comm, t, "comms");
	write_page_words(&stack, t, "stacks");
	target_write_text(t, "}");
}

static void write_heat(const struct html *h, struct target *t)
{
	unsigned n = h->r->g.folders.n;

	target_print(t, ",\"heat\":{\"first\":%llu,\"per\":%llu,\"columns\":%u,\"rows\":%u",
		(unsigned long long)h->step_lo, (unsigned long long)h->per, h->ncol, n);
	for (int inside = 0; inside < 2; inside++) {
		target_print(t, ",\"%s\":\"", inside ? "inside" : "step");
		for (size_t i = 0; i < (size_t)n * h->ncol; i++) {
			const struct html_cell *c = &h->cell[i];

			write_code(t, !c->n ? -1 : (double)(inside ? c->inside : c->dur) / c->n);
		}
		target_write_text(t, "\"");
	}
	target_write_text(t, "}");
}

static void write_short(struct target *t, double v)
{
	if (isfinite(v))
		target_print(t, "%.5g", v);
	else
		target_write_text(t, "null");
}

static void write_site(const struct html *h, struct target *t, const struct html_site *s)
{
	struct stacks *stacks = &h->r->stacks;
	char label[COMM_LABEL_MAX], *where;

	where = stack_brief(stacks, stacks_get(stacks, s->rank, s->stack), 4);
	target_print(t, "{\"calls\":%llu", (unsigned long long)s->calls);
	write_page_string(t, "api", intern_get_name(s->api));
	write_page_string(t, "op", intern_get_name(s->op));
	write_page_string(t, "comm", comm_format_label(&h->r->g.comms, s->key.a, label));
	write_page_string(t, "dtype", intern_get_name(s->dtype));
	write_page_u64(t, "count", s->count);
	write_page_string(t, "io", s->out ? "result" : "input");
	write_page_string(t, "where", where);
	free(where);
	/* For each column: min, max, mean, norm: mean, smallest and largest over the ranks, NaNs, Infs. */
	target_write_text(t, ",\"points\":[");
	for (unsigned i = 0; i < h->ncol; i++) {
		const struct html_point *p = &s->point[i];

		write_page_separator(t, i);
		if (!p->n) {
			target_write_text(t, "0");
			continue;
		}
		target_write_text(t, "[");
		write_short(t, p->min);
		target_write_text(t, ",");
		write_short(t, p->max);
		/*
		 * The files contain norms over the numeric elements only. For a tensor with a NaN
		 * the norm is undefined.
		 */
		const double sums[] = {p->mean_sum / (double)p->n, p->norm_sum / (double)p->n,
			p->norm_lo, p->norm_hi};

		for (unsigned k = 0; k < sizeof(sums) / sizeof(*sums); k++) {
			target_write_text(t, ",");
			write_short(t, p->odd ? (double)NAN : sums[k]);
		}
		target_print(
			t, ",%llu,%llu]", (unsigned long long)p->nans, (unsigned long long)p->infs);
	}
	target_write_text(t, "]}");
}

/*
 * For each column: mean (null if ranks must agree and do not), minimum and maximum over the steps
 * and ranks that have the scalar.
 */
static void write_numbers(const struct html *h, struct target *t)
{
	const struct step_numbers *s = &h->numbers;

	write_page_key(t, "numbers");
	target_write_text(t, "[");
	for (unsigned k = 0; k < s->nname; k++) {
		write_page_separator(t, k);
		target_print(t, "{\"ranks\":%u,\"equal\":%s", h->r->g.folders.n,
			scalar_is_equal_on_ranks(intern_get_name(s->name[k])) ? "true" : "false");
		write_page_string(t, "name", intern_get_name(s->name[k]));
		target_write_text(t, ",\"points\":[");
		for (unsigned i = 0; i < h->ncol; i++) {
			const struct step_number *n =
				step_numbers_find(s, h->step_lo + i * h->per, s->name[k]);

			write_page_separator(t, i);
			if (!n) {
				target_write_text(t, "0");
				continue;
			}
			target_write_text(t, "[");
			if (step_numbers_differ(s->name[k], n))
				target_write_text(t, "null");
			else
				target_write_double(t, n->sum / n->ranks);
			target_write_text(t, ",");
			target_write_double(t, n->min);
			target_write_text(t, ",");
			target_write_double(t, n->max);
			target_write_text(t, "]");
		}
		target_write_text(t, "]}");
	}
	target_write_text(t, "]");
}

static void write_comms(const struct html *h, struct target *t)
{
	const struct gather *g = &h->r->g;

	write_page_key(t, "comms");
	target_write_text(t, "[");
	for (uint32_t i = 0; i < g->comms.table.n; i++) {
		const struct comm_info *c = table_at(&g->comms.table, i);
		uint64_t calls = 0, bytes = 0;
		char id[20];

		for (uint32_t k = 0; k < g->ops.table.n; k++) {
			const struct op_stat *s = table_at(&g->ops.table, k);

			calls += s->comm == c->key.a ? s->calls : 0;
			bytes += s->comm == c->key.a ? s->bytes : 0;
		}
		write_page_separator(t, i);
		snprintf(id, sizeof(id), "%016llx", (unsigned long long)c->key.a);
		target_print(t, "{\"size\":%lld", (long long)c->size);
		write_page_string(t, "comm", id);
		write_page_string(t, "lib", intern_get_name(c->lib));
		write_page_string(t, "kind", intern_get_name(c->kind));
		write_page_string(t, "name", intern_get_name(c->name));
		write_page_string(t, "ranks", c->ranks);
		write_page_u64(t, "calls", calls);
		write_page_u64(t, "bytes", bytes);
		target_write_text(t, "}");
	}
	target_write_text(t, "]");
}

static void write_document(struct html *h, struct target *t)
{
	unsigned some = 0;

	target_write_text(t, "{");
	write_run(h, t);
	write_verdict(h, t);
	write_findings(h, t);
	write_heat(h, t);
	write_page_key(t, "windows");
	target_write_text(t, "[");
	for (unsigned i = 0; i < h->nwindow; i++) {
		write_page_separator(t, i);
		write_window(h, t, &h->window[i]);
	}
	target_write_text(t, "]");
	write_page_key(t, "sites");
	target_write_text(t, "[");
	for (uint32_t i = 0; i < h->sites.n; i++) {
		const struct html_site *s = table_at(&h->sites, i);

		if (!s->wanted)
			continue;
		write_page_separator(t, some++);
		write_site(h, t, s);
	}
	target_write_text(t, "]");
	write_numbers(h, t);
	write_page_operations(h->r, t);
	write_page_slowest(h->r, t);
	write_page_flame(h, t);
	write_comms(h, t);
	target_write_text(t, "}");
}

int write_report_html(struct report *r, const struct gather_options *o, const char *path)
{
	struct html h;
	struct target t;
	const char *place =
		memmem(html_page, (size_t)(html_page_end - html_page), PLACE, strlen(PLACE));
	int status = target_open_file(&t, path);

	if (status)
		return status;
	read_html_rows(&h, r, o);
	target_write(&t, html_page, (size_t)(place - html_page));
	write_document(&h, &t);
	place += strlen(PLACE);
	target_write(&t, place, (size_t)(html_page_end - place));
	html_free(&h);

	uint64_t bytes = t.bytes;

	status = target_close(&t, !gather_stop_signal());
	if (!status && !gather_stop_signal() && strcmp(path, "-"))
		printf("%s: %s, one file that any browser shows\n", path,
			out_format_bytes((double)bytes));
	return status;
}
