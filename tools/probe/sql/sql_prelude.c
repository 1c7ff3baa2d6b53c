/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/sql/sql_prelude.h"

#include <stdlib.h>
#include <string.h>

#include "base/unwritten.h"
#include "tools/lib/tool.h"
#include "tools/probe/columns/column_types.h"
#include "tools/probe/sql/sql_text.h"

/* The text of macros.sql. sql.mk makes this file depend on it. */
__asm__(".section .rodata\n"
	".globl sql_macros\n"
	"sql_macros:\n"
	".incbin \"tools/probe/sql/macros.sql\"\n"
	".byte 0\n"
	".previous\n");
extern const char sql_macros[];

#define COLUMNS_MAX 128
#define LISTS 2

/* Columns <stem>_0, <stem>_1 ... of a file, which are one list in the view. */
static const struct {
	const char *stem, *column;
} lists[LISTS] = {{"update", "updates"}, {"ratio", "ratios"}};

static const struct duckdb_column kind_columns[] = {
	{"vpp_stage", "BIGINT"},
	{"name", "VARCHAR"},
	{"step", "BIGINT"},
	{"micro_step", "BIGINT"},
#define TRAIN_OP(id, word, help) {word, "DOUBLE"},
#include "terms/train_kind.def"
	{"value", "DOUBLE"},
	{"upper", "DOUBLE"},
	{"lower", "DOUBLE"},
	{"rows", "DOUBLE"},
	{"rows_total", "DOUBLE"},
	{"call", "BIGINT"},
	{"address", "BIGINT"},
	{"bytes", "BIGINT"},
	{"allocated", "BIGINT"},
	{"reserved", "BIGINT"},
	{"at_ns", "BIGINT"},
	{"updates", "DOUBLE[]"},
	{"ratios", "DOUBLE[]"},
	{"shape", "VARCHAR"},
	{"dtype", "VARCHAR"},
};

/* table: name as in `probe columns`; NULL: kind_columns. */
static const struct view {
	const char *name, *table;
} views[SQL_VIEWS] = {
	[VIEW_CALLS] = {"calls", "calls"},
	[VIEW_COMMS] = {"comms", "comms"},
	[VIEW_STACKS] = {"stacks", "stack_info"},
	[VIEW_SCALARS] = {"scalars", "scalar_rows"},
	[VIEW_KINDS] = {"kinds", NULL},
	[VIEW_NAMES] = {"names", "names"},
	[VIEW_MODULES] = {"modules", "modules"},
};

struct columns {
	struct duckdb_column column[COLUMNS_MAX];
	unsigned n;
};

static void find_view_columns(const struct view *v, struct columns *c)
{
	if (v->table) {
		c->n = find_duckdb_columns(v->table, c->column, COLUMNS_MAX);
		return;
	}
	c->n = sizeof(kind_columns) / sizeof(*kind_columns);
	memcpy(c->column, kind_columns, sizeof(kind_columns));
}

/*
 * The view's `rank` is the rank of the folder. The file's column `rank` is the rank in a
 * communicator.
 */
static const char *get_view_name(const char *column)
{
	return strcmp(column, "rank") == 0 ? "comm_rank" : column;
}

/* Returns an index in `lists`, or LISTS if the column belongs to no list. */
static unsigned find_list(const char *column)
{
	unsigned i = 0;

	for (; i < LISTS; i++) {
		size_t n = strlen(lists[i].stem);

		if (strncmp(column, lists[i].stem, n) == 0 && column[n] == '_' && column[n + 1] &&
			column[n + 1 + strspn(column + n + 1, "0123456789")] == '\0')
			break;
	}
	return i;
}

/* Returns the type of a column; VARCHAR for a column that this version does not know. */
static const char *find_column_type(const struct columns *c, const char *column)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->column[i].name, column) == 0)
			return c->column[i].type;
	return find_list(column) < LISTS ? "DOUBLE" : "VARCHAR";
}

/* Prints a view without files: no rows, but the right columns. */
static void print_empty_select(FILE *f, const struct view *v, const struct columns *c)
{
	fputs("SELECT CAST(NULL AS BIGINT) AS rank", f);
	if (!v->table)
		fputs(", CAST(NULL AS VARCHAR) AS kind", f);
	for (unsigned i = 0; i < c->n; i++) {
		fprintf(f, ", CAST(NULL AS %s) AS ", c->column[i].type);
		print_sql_name(f, get_view_name(c->column[i].name));
	}
	fputs(" WHERE false", f);
}

static void print_file_columns(FILE *f, const struct view *v, const struct file_group *g)
{
	bool listed[LISTS] = {false};

	fputs("\nUNION ALL BY NAME SELECT world_rank(filename) AS rank", f);
	if (!v->table)
		fputs(", regexp_extract(filename, "
		      "'([^/]*)_[0-9]+-[0-9]+([.][0-9]+)?[.]csv([.]gz)?$', 1) AS kind",
			f);
	for (unsigned i = 0; i < g->ncolumn; i++) {
		unsigned list = v->table ? LISTS : find_list(g->column[i]);

		if (list == LISTS) {
			fputs(", ", f);
			print_sql_name(f, g->column[i]);
			if (strcmp(get_view_name(g->column[i]), g->column[i]))
				fprintf(f, " AS %s", get_view_name(g->column[i]));
			continue;
		}
		if (listed[list])
			continue;
		listed[list] = true;
		for (unsigned k = i; k < g->ncolumn; k++)
			if (find_list(g->column[k]) == list) {
				fputs(k == i ? ", [" : ", ", f);
				print_sql_name(f, g->column[k]);
			}
		fprintf(f, "] AS %s", lists[list].column);
	}
}

/* No type is guessed: the columns come from the header, their types from columns.def. */
static void print_group(FILE *f, const struct view *v, const struct columns *c,
	const struct file_group *g, bool skip_damaged)
{
	print_file_columns(f, v, g);
	fputs(" FROM read_csv([", f);
	for (unsigned i = 0; i < g->npath; i++) {
		if (i)
			fputs(", ", f);
		print_sql_text(f, g->path[i]);
	}
	fprintf(f,
		"], header = true, auto_detect = false, delim = ',', quote = '\"', escape = '\"', "
		"nullstr = '', max_line_size = 4194304, filename = true%s, columns = {",
		skip_damaged ? ", ignore_errors = true" : "");
	for (unsigned i = 0; i < g->ncolumn; i++) {
		if (i)
			fputs(", ", f);
		print_sql_text(f, g->column[i]);
		fprintf(f, ": '%s'", find_column_type(c, g->column[i]));
	}
	fputs("})", f);
}

static void print_view(FILE *f, const struct view *v, const struct sql_files *files,
	enum sql_view view, bool skip_damaged)
{
	struct columns c;

	find_view_columns(v, &c);
	fprintf(f, "CREATE OR REPLACE TEMP VIEW %s AS ", v->name);
	print_empty_select(f, v, &c);
	for (unsigned i = 0; i < files->view[view].n; i++)
		print_group(f, v, &c, &files->view[view].group[i], skip_damaged);
	fputs(";\n", f);
}

/* Prints the patterns of base/unwritten.h. A * in them matches anything. */
static void print_patterns(FILE *f, enum unwritten_part part)
{
	const char *pattern;
	enum unwritten_part own;
	bool first = true;

	fputs("regexp_full_match(split_part(op, '.', 1), '", f);
	for (unsigned i = 0; (pattern = get_unwritten_pattern(i, &own)); i++) {
		if (own != part)
			continue;
		if (!first)
			fputc('|', f);
		first = false;
		for (const char *p = pattern; *p; p++)
			fprintf(f, *p == '*' ? ".%c" : "%c", *p);
	}
	fputs("')", f);
}

static void print_unwritten(FILE *f)
{
	fputs("-- Operators on unwritten memory, such as torch.empty: its content has no meaning.\n"
	      "CREATE OR REPLACE TEMP MACRO is_unwritten(op, io, index) AS ",
		f);
	print_patterns(f, UNWRITTEN_ALL);
	fputs(" OR (io = 'in' AND index = 0 AND ", f);
	print_patterns(f, UNWRITTEN_FIRST_INPUT);
	fputs(") OR (io = 'in' AND ", f);
	print_patterns(f, UNWRITTEN_INPUTS);
	fputs(");\n", f);
}

/* SQL for the rank in the name of a file's folder: rank3, rank3.1, rank3-pid17. */
static const char world_rank[] =
	"CREATE OR REPLACE TEMP MACRO world_rank(path) AS\n"
	"  TRY_CAST(regexp_extract(path, '(?:^|/)rank([0-9]+)(?:[.-][^/]*)?/[^/]*$', 1) AS "
	"BIGINT);\n";

/* One row for each rank and step, computed from the calls. */
static const char steps_view[] =
	"CREATE OR REPLACE TEMP VIEW steps AS\n"
	"SELECT rank, step, min(start_ns) AS start_ns, max(start_ns + coalesce(dur_ns, 0)) AS "
	"end_ns, "
	"count(*) AS calls,\n"
	"  count(*) FILTER (dur_ns IS NULL) AS open, CAST(sum(bytes) AS BIGINT) AS bytes\n"
	"FROM (SELECT rank, step, seq, min(start_ns) AS start_ns, max(dur_ns) AS dur_ns,\n"
	"  greatest(coalesce(sum(bytes) FILTER (io = 'in'), 0), coalesce(sum(bytes) FILTER (io = "
	"'out'), 0)) AS bytes\n"
	"  FROM calls GROUP BY rank, step, seq) GROUP BY rank, step;\n";

void print_prelude(FILE *f, const struct folders *folders, const struct sql_files *files,
	const struct clock_fix *clock, bool skip_damaged)
{
	print_unwritten(f);
	fputs(world_rank, f);
	for (int v = 0; v < SQL_VIEWS; v++)
		print_view(f, &views[v], files, (enum sql_view)v, skip_damaged);
	fputs(steps_view, f);
	print_ranks_view(f, folders, clock);
	fputs(sql_macros, f);
}
