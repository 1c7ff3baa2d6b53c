/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verb `columns`: prints the tables of files, columns and words from which other parts of the
 * project are generated.
 */
#include <stdio.h>
#include <string.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/columns/column_types.h"

static const char help[] =
	"usage: probe columns [--names | --markdown | --man | --duckdb | --polars | "
	"--pandas | --arrow] [TABLE...]\n"
	"\n"
	"Explains the files that a job writes, their columns, and the words that these "
	"contain.\n"
	"\n"
	"  TABLE        files, calls, stack_info, comms, modules, names, scalar_rows "
	"(columns of\n"
	"               these CSV files), scalars (names in scalars_<a>-<b>.csv), flags, "
	"phases\n"
	"               (words of those columns), kinds, ops (of key kinds), findings (of "
	"`probe\n"
	"               report`), counts and losses (`calls` and `missing` in meta.json); "
	"all of\n"
	"               them where none is named\n"
	"      --names     the names alone, joined by commas: of a CSV file its first "
	"line\n"
	"      --markdown  as tables of README and docs/reference/output-format.md\n"
	"      --man       as in libprobe(7)\n"
	"      --duckdb, --polars, --pandas, --arrow\n"
	"                  the types of a CSV file's columns, to be pasted where that "
	"reader takes them: types=,\n"
	"                  schema_overrides=, dtype=, column_types= (with "
	"null_values=[\"\"]). Without TABLE of all of\n"
	"                  them. Guessed types are wrong if a run has an Inf or a NaN\n"
	"\n"
	"examples:\n"
	"  probe columns calls\n"
	"  probe columns --names calls | tr , '\\n"
	"' | grep -n flags\n"
	"  duckdb -c \"SELECT max(norm) FROM read_csv('rank*/calls_*.csv', types=$(probe "
	"columns --duckdb calls))\"\n";

enum { OPT_NAMES, OPT_MARKDOWN, OPT_MAN, OPT_READERS };

static const struct cli_option options[] = {
	[OPT_NAMES] = {"names", 0, false},
	[OPT_MARKDOWN] = {"markdown", 0, false},
	[OPT_MAN] = {"man", 0, false},
	[OPT_READERS + READER_DUCKDB] = {"duckdb", 0, false},
	[OPT_READERS + READER_POLARS] = {"polars", 0, false},
	[OPT_READERS + READER_PANDAS] = {"pandas", 0, false},
	[OPT_READERS + READER_ARROW] = {"arrow", 0, false},
};

struct fact {
	/* more: printed after the name. kind: "" if the table has no kinds */
	const char *name, *more, *kind, *help;
};

/* Types of columns.def, in words for readers. */
#define KIND_WHOLE "integer"
#define KIND_NONZERO "integer"
#define KIND_INTEGER "integer"
#define KIND_NUMBER "integer"
#define KIND_NUMBER32 "integer"
#define KIND_RANK "integer"
#define KIND_HEX "hex"
#define KIND_ID "hex"
#define KIND_BYTES "hex"
#define KIND_CHECKSUM "hex"
#define KIND_WORD "word"
#define KIND_FLAGS "words"
#define KIND_SHAPE "shape"
#define KIND_DIMS "shape"
#define KIND_OWNER "integer"
#define KIND_STAGE "integer"
#define KIND_BUCKET "integer"
#define KIND_PART "integer"
#define KIND_NAME_FLAGS "words"
#define KIND_NAME "text"
#define KIND_TEXT "text"
#define KIND_API "text"
#define KIND_LONG_TEXT "text"
#define KIND_EMPTY "empty"
#define KIND_VALUE "number"
#define KIND_REAL "number"
#define KIND_SHARE "number"
#define KIND_SCALAR_NAME "text"
#define KIND_SCALAR_VALUE "number"

static const struct fact files[] = {
#define OUTPUT_FILE(name, help) {name, "", "", help},
#include "journal/columns.def"
};
static const struct fact calls[] = {
#define ROW_COLUMN(name, type, source, help) {#name, "", KIND_##type, help},
#include "journal/columns.def"
};
static const struct fact stacks[] = {
#define STACK_COLUMN(name, type, source, help) {#name, "", KIND_##type, help},
#include "journal/columns.def"
};
static const struct fact comms[] = {
#define COMM_COLUMN(name, type, source, help) {#name, "", KIND_##type, help},
#include "journal/columns.def"
};
static const struct fact modules[] = {
#define MODULE_COLUMN(name, type, source, help) {#name, "", KIND_##type, help},
#include "journal/columns.def"
};
static const struct fact names[] = {
#define NAME_COLUMN(name, type, source, help) {#name, "", KIND_##type, help},
#include "journal/columns.def"
};
static const struct fact scalar_rows[] = {
#define SCALAR_COLUMN(name, type, source, help) {#name, "", KIND_##type, help},
#include "journal/columns.def"
};
static const struct fact scalars[] = {
#define SCALAR(id, name, ranks, unit, source, help) {name, "", unit, help source},
#include "terms/scalars.def"
};
static const struct fact kinds[] = {
#define TRAIN_KIND(id, word, form, help) {sizeof(word) > 1 ? word : "<key>", "", "", help},
#include "terms/train_kind.def"
};
static const struct fact ops[] = {
#define TRAIN_OP(id, word, help) {word, "", "", help},
#include "terms/train_kind.def"
};
static const struct fact flags[] = {
#define CALL_FLAG(id, word, value, help) {word, value, "", help},
#include "journal/flags.def"
};
static const struct fact phases[] = {
#define CALL_PHASE(id, word, help) {word, "", "", help},
#include "journal/flags.def"
};
enum {
#define FINDING_SEVERITY(id, word, help) SEVERITY_##id,
#include "tools/probe/rules/findings.def"
};
static const char severities[][8] = {
#define FINDING_SEVERITY(id, word, help) word,
#include "tools/probe/rules/findings.def"
};
static const struct fact findings[] = {
#define FINDING_KIND(id, severity, word, help, basis, evidence) \
	{word, "", severities[SEVERITY_##severity], help},
#include "tools/probe/rules/findings.def"
};
static const char count_groups[][8] = {"", "dropped", "skipped"};
enum { GROUP_TOP, GROUP_DROPPED, GROUP_SKIPPED };
static const struct fact counts[] = {
#define CALL_COUNT(id, group, name, help) {name, "", count_groups[GROUP_##group], help},
#include "journal/counts.def"
};
static const struct fact losses[] = {
#define LOSS_KIND(id, name, help) {name, "", "", help},
#include "terms/losses.def"
};

#define FACTS(list) list, sizeof(list) / sizeof(*(list))

static const struct fact_table {
	/* kind: heading of the column of kinds; NULL: no such column. */
	const char *name, *title, *head, *kind;
	const struct fact *fact;
	size_t n;
} tables[] = {
	{"files", "Files of rank<R>/", "file", NULL, FACTS(files)},
	{"calls", "calls_<a>-<b>.csv", "column", "type", FACTS(calls)},
	{"stack_info", "stack_info.csv", "column", "type", FACTS(stacks)},
	{"comms", "comms.csv", "column", "type", FACTS(comms)},
	{"modules", "modules.csv", "column", "type", FACTS(modules)},
	{"names", "names.csv", "column", "type", FACTS(names)},
	{"scalar_rows", "scalars_<a>-<b>.csv", "column", "type", FACTS(scalar_rows)},
	{"scalars", "Numbers of scalars_<a>-<b>.csv", "name", "unit", FACTS(scalars)},
	{"kinds", "<kind>_<a>-<b>.csv", "kind", NULL, FACTS(kinds)},
	{"ops", "Columns of <kind>_<a>-<b>.csv, by key ops", "column", NULL, FACTS(ops)},
	{"flags", "Words of the column flags", "flag", NULL, FACTS(flags)},
	{"phases", "Words of the column phase", "phase", NULL, FACTS(phases)},
	{"findings", "Findings of probe report", "kind", "severity", FACTS(findings)},
	{"counts", "Counts of `calls` in meta.json", "key", "in", FACTS(counts)},
	{"losses", "Keys of `missing` in meta.json", "key", NULL, FACTS(losses)},
};

#define NTABLES (sizeof(tables) / sizeof(*tables))

enum shape { SHAPE_TEXT, SHAPE_NAMES, SHAPE_MARKDOWN, SHAPE_MAN, SHAPE_READERS };

/* Returns true if the table describes a CSV file, whose columns have types. */
static bool has_column_types(const struct fact_table *t)
{
	return t->kind && strcmp(t->kind, "type") == 0;
}

unsigned find_duckdb_columns(const char *table, struct duckdb_column *column, unsigned max)
{
	for (size_t i = 0; i < NTABLES; i++) {
		const struct fact_table *t = &tables[i];

		if (strcmp(t->name, table) || !has_column_types(t))
			continue;
		for (size_t k = 0; k < t->n && k < max; k++)
			column[k] = (struct duckdb_column){
				t->fact[k].name, get_duckdb_type(t->fact[k].kind)};
		return (unsigned)t->n;
	}
	return 0;
}

/* Prints s without the marks of Markdown. */
static void print_plain_text(const char *s)
{
	for (; *s; s++)
		if (*s != '`')
			putchar(*s);
}

static void print_names(const struct fact_table *t)
{
	bool first = true;

	for (size_t i = 0; i < t->n; i++) {
		if (!t->fact[i].name[0])
			continue;
		printf("%s%s%s", first ? "" : ",", t->fact[i].name, t->fact[i].more);
		first = false;
	}
	putchar('\n');
}

static void print_markdown(const struct fact_table *t)
{
	printf("| %s |%s%s%s meaning |\n|---|%s---|\n", t->head, t->kind ? " " : "",
		t->kind ? t->kind : "", t->kind ? " |" : "", t->kind ? "---|" : "");
	for (size_t i = 0; i < t->n; i++) {
		const struct fact *f = &t->fact[i];

		if (f->name[0])
			printf("| `%s%s` |", f->name, f->more);
		else
			printf("| (empty) |");
		if (t->kind)
			printf(" %s |", f->kind);
		putchar(' ');
		for (const char *p = f->help; *p; p++) {
			if (*p == '|')
				putchar('\\');
			putchar(*p);
		}
		puts(" |");
	}
}

static void print_man_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '-' || *s == '\\')
			putchar('\\');
		if (*s != '`')
			putchar(*s);
	}
}

static void print_man_table(const struct fact_table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct fact *f = &t->fact[i];

		if (!f->name[0])
			continue;
		fputs(".TP\n.B ", stdout);
		print_man_text(f->name);
		print_man_text(f->more);
		fputs("\n\\&",
			stdout); /* troff takes a line that begins with a dot for a request */
		print_man_text(f->help);
		putchar('\n');
	}
}

static void print_table_text(const struct fact_table *t)
{
	out_print_heading(t->title);
	for (size_t i = 0; i < t->n; i++) {
		const struct fact *f = &t->fact[i];
		int at = printf("  %s%s", f->name, f->more);

		printf("%*s", at < 18 ? 18 - at : 1, "");
		if (t->kind)
			printf("%-9s", f->kind);
		print_plain_text(f->help);
		putchar('\n');
	}
}

/* heading: first prints the name of the kind of table. */
static void print_types(const struct fact_table *t, enum reader reader, bool heading)
{
	if (heading)
		printf("%s %s\n", reader == READER_DUCKDB ? "--" : "#", t->title);
	for (size_t i = 0; i < t->n; i++)
		print_column_type(reader, t->fact[i].name, t->fact[i].kind, i == 0, i == t->n - 1);
}

static void print_facts(const struct fact_table *t, enum shape shape)
{
	switch (shape) {
	case SHAPE_NAMES:
		print_names(t);
		return;
	case SHAPE_MARKDOWN:
		print_markdown(t);
		return;
	case SHAPE_MAN:
		print_man_table(t);
		return;
	default:
		print_table_text(t);
	}
}

static const struct fact_table *find_fact_table(const char *name)
{
	const char *table[NTABLES], *near;

	for (size_t i = 0; i < NTABLES; i++) {
		if (strcmp(tables[i].name, name) == 0)
			return &tables[i];
		table[i] = tables[i].name;
	}
	near = cli_find_nearest(name, table, NTABLES);
	tool_error("columns: %s: no such table; %s%s%s", name,
		near ? "did you mean "
		     : "accepted: files, calls, stack_info, comms, modules, names, scalar_rows, "
		       "scalars, kinds, ops, flags, phases, findings, counts, losses",
		near ? near : "", near ? "?" : "");
	return NULL;
}

int verb_columns(int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const struct fact_table *wanted[NTABLES];
	enum shape shape = SHAPE_TEXT;
	enum reader reader = READER_DUCKDB;
	unsigned n = 0;
	int o;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		switch (o) {
		case OPT_NAMES:
			shape = SHAPE_NAMES;
			break;
		case OPT_MARKDOWN:
			shape = SHAPE_MARKDOWN;
			break;
		case OPT_MAN:
			shape = SHAPE_MAN;
			break;
		case OPT_READERS + READER_DUCKDB:
		case OPT_READERS + READER_POLARS:
		case OPT_READERS + READER_PANDAS:
		case OPT_READERS + READER_ARROW:
			shape = SHAPE_READERS;
			reader = (enum reader)(o - OPT_READERS);
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return tool_close_output(STATUS_DONE);
		case CLI_OPERAND:
			if (n == NTABLES) {
				tool_error("columns: %s: there are only %zu tables, and each is "
					   "printed once",
					c.value, NTABLES);
				return STATUS_USAGE;
			}
			wanted[n] = find_fact_table(c.value);
			if (!wanted[n++])
				return STATUS_USAGE;
			break;
		default:
			return STATUS_USAGE;
		}
	}
	for (unsigned i = 0; i < n; i++)
		if (shape == SHAPE_READERS && !has_column_types(wanted[i])) {
			tool_error("columns: %s: no columns with types; accepted: calls, "
				   "stack_info, comms, modules, names, scalar_rows",
				wanted[i]->name);
			return STATUS_USAGE;
		}
	bool all = !n;

	for (size_t i = 0; all && i < NTABLES; i++)
		if (shape != SHAPE_READERS || has_column_types(&tables[i]))
			wanted[n++] = &tables[i];
	for (unsigned i = 0; i < n; i++) {
		if (shape == SHAPE_READERS) {
			print_types(wanted[i], reader, n > 1);
			continue;
		}
		if (i && shape == SHAPE_MARKDOWN)
			putchar('\n');
		print_facts(wanted[i], shape);
	}
	return tool_close_output(STATUS_DONE);
}
