/* SPDX-License-Identifier: Apache-2.0 */
/* Views whose rows are part of the prelude. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lib/intern.h"
#include "tools/lib/tool.h"
#include "tools/probe/rules/measured.h"
#include "tools/probe/rules/report.h"
#include "tools/probe/sql/sql_prelude.h"
#include "tools/probe/sql/sql_text.h"

struct cell {
	const char *name, *type;
};

static void print_rows_start(FILE *f, const char *view, const struct cell *column, unsigned n)
{
	fprintf(f, "CREATE OR REPLACE TEMP VIEW %s AS SELECT * FROM (VALUES\n  (", view);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%sCAST(NULL AS %s)", i ? ", " : "", column[i].type);
	fputc(')', f);
}

/* The first row only sets the types and is filtered out. */
static void print_rows_end(FILE *f, const struct cell *column, unsigned n)
{
	fputs(") AS t(", f);
	for (unsigned i = 0; i < n; i++) {
		fputs(i ? ", " : "", f);
		print_sql_name(f, column[i].name);
	}
	fprintf(f, ") WHERE \"%s\" IS NOT NULL;\n", column[n - 1].name);
}

#define COUNT(list) (unsigned)(sizeof(list) / sizeof(*(list)))

static const struct cell rank_columns[] = {
	{"rank", "BIGINT"},
	{"host", "VARCHAR"},
	{"pid", "BIGINT"},
	{"state", "VARCHAR"},
	{"world_size", "BIGINT"},
	{"clock_ahead_ns", "BIGINT"},
	{"clock_drift", "DOUBLE"},
	{"clock_at_ns", "BIGINT"},
	{"folder", "VARCHAR"},
};

static void print_number_or_null(FILE *f, bool known, long long v)
{
	if (known)
		fprintf(f, "%lld", v);
	else
		fputs("NULL", f);
}

void print_ranks_view(FILE *f, const struct folders *folders, const struct clock_fix *clock)
{
	print_rows_start(f, "ranks", rank_columns, COUNT(rank_columns));
	for (unsigned i = 0; i < folders->n; i++) {
		const struct rank_dir *d = &folders->dir[i];

		fputs(",\n  (", f);
		print_number_or_null(f, d->rank >= 0, d->rank);
		fputs(", ", f);
		print_sql_text(f, d->meta.has_owner ? d->meta.owner.host : NULL);
		fputs(", ", f);
		print_number_or_null(f, d->meta.has_owner, d->meta.owner.pid);
		fprintf(f, ", '%s', ", rank_state_get_key(d->state));
		print_number_or_null(f, d->meta.world_size >= 0, d->meta.world_size);
		if (clock)
			fprintf(f, ", %lld, %.17g, %llu, ", (long long)clock[i].ahead,
				clock[i].drift, (unsigned long long)clock[i].at);
		else
			fputs(", NULL, NULL, NULL, ", f);
		print_sql_text(f, d->path);
		fputc(')', f);
	}
	print_rows_end(f, rank_columns, COUNT(rank_columns));
}

static const struct cell finding_columns[] = {
	{"rank", "BIGINT"}, /* the first of ranks */
	{"ranks", "BIGINT[]"},
	{"others", "BIGINT[]"},
	{"severity", "VARCHAR"},
	{"step", "BIGINT"},
	{"comm", "VARCHAR"},
	{"comm_seq", "BIGINT"},
	{"op", "VARCHAR"},
	{"api", "VARCHAR"},
	{"seq", "BIGINT"},
	{"file", "VARCHAR"},
	{"line", "BIGINT"},
	{"text", "VARCHAR"},
	{"what", "VARCHAR"},
	{"evidence", "VARCHAR"},
	{"next", "VARCHAR"},
	{"confidence", "DOUBLE"},
	{"kind", "VARCHAR"},
};

static void print_sql_ranks(FILE *f, const int *rank, unsigned n)
{
	fputc('[', f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f, "%s%d", i ? ", " : "", rank[i]);
	fputs("], ", f);
}

static void print_optional_text(FILE *f, const char *s)
{
	print_sql_text(f, s && *s ? s : NULL);
	fputs(", ", f);
}

static void print_sql_call(FILE *f, struct report *r, const struct call *c)
{
	bool made = c && c->api; /* false: a rank and a step are known, but no call */
	char comm[20] = "", file[512] = "";
	unsigned line = 0;
	bool known = c && c->stack &&
		     stack_line(&r->stacks, stacks_get(&r->stacks, c->rank, c->stack), file,
			     sizeof(file), &line);

	if (c && c->comm)
		snprintf(comm, sizeof(comm), "%016llx", (unsigned long long)c->comm);
	print_number_or_null(f, c, c ? (long long)c->step : 0);
	fputs(", ", f);
	print_optional_text(f, comm);
	print_number_or_null(f, c && c->comm_seq != NO_NUMBER, c ? (long long)c->comm_seq : 0);
	fputs(", ", f);
	print_optional_text(f, made ? intern_get_name(c->op) : NULL);
	print_optional_text(f, made ? intern_get_name(c->api) : NULL);
	print_number_or_null(f, made, made ? (long long)c->seq : 0);
	fputs(", ", f);
	print_optional_text(f, known ? file : NULL);
	print_number_or_null(f, known, line);
	fputs(", ", f);
}

void print_findings_view(FILE *f, struct report *r)
{
	print_rows_start(f, "findings", finding_columns, COUNT(finding_columns));
	for (unsigned i = 0; i < r->nfinding; i++) {
		const struct finding *k = &r->finding[i];
		double share = compute_right_share(
			find_measurement(measurements, k->kind, severity_word(k->severity)));

		fputs(",\n  (", f);
		print_number_or_null(f, k->nrank, k->nrank ? k->rank[0] : 0);
		fputs(", ", f);
		print_sql_ranks(f, k->rank, k->nrank);
		print_sql_ranks(f, k->other, k->nother);
		print_optional_text(f, severity_word(k->severity));
		print_sql_call(f, r, k->has_call ? &k->call : NULL);
		print_optional_text(f, k->text);
		print_optional_text(f, k->what);
		print_optional_text(f, k->evidence);
		print_optional_text(f, k->next);
		if (isnan(share))
			fputs("NULL, ", f);
		else
			fprintf(f, "%.9g, ", share);
		print_sql_text(f, k->kind);
		fputc(')', f);
	}
	print_rows_end(f, finding_columns, COUNT(finding_columns));
}

struct report *read_sql_report(const char *path)
{
	struct report *r = tool_alloc(sizeof(*r));
	struct gather_options o = {
		.path = path, .top = 10, .step_hi = UINT64_MAX, .progress = true};

	if (report_gather(r, &o) == 0)
		return r;
	free(r);
	return NULL;
}

const struct clock_fix *get_report_clock(const struct report *r, const struct folders *f)
{
	return r->g.folders.n == f->n ? r->g.skew : NULL;
}

void free_sql_report(struct report *r)
{
	if (r)
		report_free(r);
	free(r);
}
