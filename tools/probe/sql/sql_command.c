/* SPDX-License-Identifier: Apache-2.0 */
/* The verb `sql`: runs DuckDB over the files of a run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/lib/cli.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/skew.h"
#include "tools/probe/sql/sql_engine.h"
#include "tools/probe/sql/sql_prelude.h"

static const char help[] =
	"usage: probe sql [options] [DIR] [QUERY]\n"
	"\n"
	"Starts DuckDB with the files of a run as tables. DIR is an output folder "
	"(default: $PROBE_OUTPUT_DIR, else\n"
	"./probe_output), or one rank's folder. Without QUERY: shows DuckDB's prompt, or runs "
	"the statements from stdin.\n"
	"\n"
	"views:   calls comms stacks scalars kinds names modules, with the columns of the "
	"files (`probe columns`);\n"
	"         steps (of each rank and step), ranks (host, pid, state), findings (of "
	"`probe report`). Column\n"
	"         rank is the rank of the folder in all views; in calls and comms, comm_rank "
	"is the rank in the communicator\n"
	"macros:  last_arrivals()    for each collective operation: which rank arrived "
	"last, how much later\n"
	"         first_nonfinite()  the first tensor with a NaN or an Inf\n"
	"         step_times()       for each step: mean, minimum and maximum over the "
	"ranks\n"
	"\n"
	"      --json          results as JSON (NaN and Infinity are written as such, as "
	"Python writes and reads them)\n"
	"      --csv           results as CSV\n"
	"      --file F        reads the query from a file; -: from stdin\n"
	"      --print         prints the SQL that creates views and macros, for other "
	"programs\n"
	"      --skip-damaged  skips lines of files that cannot be read; otherwise they "
	"are errors\n"
	"\n"
	"DuckDB is the program `duckdb`, else PyPI's duckdb-cli or duckdb in python3. The exit "
	"status is that of DuckDB;\n"
	"2: usage, or there is no DuckDB, or no run in DIR.\n"
	"\n"
	"examples:\n"
	"  probe sql 'SELECT op, count(DISTINCT (rank, seq)) AS calls FROM calls GROUP BY "
	"op'\n"
	"  probe sql run7 'SELECT last_rank, count(*) FROM last_arrivals() WHERE waited "
	"GROUP BY ALL'\n"
	"  probe sql --json run7 'SELECT * FROM first_nonfinite()'\n"
	"  probe sql run7 'SELECT * FROM findings'\n"
	"  probe sql run7 \"COPY (SELECT * FROM calls) TO 'run7.parquet' (FORMAT parquet, "
	"PARTITION_BY (rank))\"\n"
	"  probe sql --print run7 > views.sql\n";

enum { OPT_JSON, OPT_CSV, OPT_FILE, OPT_PRINT, OPT_SKIP };

static const struct cli_option options[] = {
	[OPT_JSON] = {"json", 0, false},
	[OPT_CSV] = {"csv", 0, false},
	[OPT_FILE] = {"file", 'f', true},
	[OPT_PRINT] = {"print", 0, false},
	[OPT_SKIP] = {"skip-damaged", 0, false},
};

struct asked {
	const char *dir, *query; /* query NULL: none */
	char *text; /* text of --file, malloc'd */
	enum sql_format format;
	bool print, skip_damaged;
};

/*
 * Returns true if the query contains one of the words, which need more of the run than the list of its
 * files. query NULL: returns true, so that everything is prepared.
 */
static bool has_query_word(const char *query, const char *const *word)
{
	if (!query)
		return true;
	for (; *word; word++)
		if (strcasestr(query, *word))
			return true;
	return false;
}

/* The view `findings` needs the report of the run. A query that lists all views needs it too. */
static bool has_findings_word(const char *query)
{
	return has_query_word(query,
		(const char *const[]){"findings", "show", "schema", "duckdb_", ".tables", NULL});
}

static bool has_clock_word(const char *query)
{
	return has_query_word(
		query, (const char *const[]){"last_arrivals", "first_nonfinite", "clock_", NULL});
}

static bool has_many_hosts(const struct folders *f)
{
	for (unsigned i = 1; i < f->n; i++)
		if (f->dir[i].meta.has_owner &&
			strcmp(f->dir[i].meta.owner.host, f->dir[0].meta.owner.host))
			return true;
	return false;
}

/* Warns about data of the run that the views lack. */
static void print_missing_warnings(const struct folders *f, const struct sql_files *files)
{
	unsigned journals = 0;

	for (unsigned i = 0; i < f->n; i++)
		journals += f->dir[i].journal && f->dir[i].state == RANK_KILLED;
	if (journals)
		tool_warn("sql: the last calls of %s are in journals: `probe recover %s` writes "
			  "them into the files",
			out_format_plural(journals, "killed rank", "killed ranks"), f->path);
	if (files->compact)
		tool_warn("sql: %s skipped: `probe csv %s` writes them as CSV",
			out_format_plural(files->compact, "compact file is", "compact files are"),
			f->path);
	if (files->unreadable)
		tool_warn("sql: %s cannot be read: skipped",
			out_format_plural(files->unreadable, "file", "files"));
}

static int write_prelude(FILE *out, const struct asked *a)
{
	struct folders f;
	struct sql_files files;
	struct report *r = NULL;
	struct clock_fix *clock = NULL;
	int status = folders_open(&f, a->dir);

	if (status)
		return status;
	if (has_findings_word(a->query)) {
		r = read_sql_report(a->dir);
		status = r ? 0 : STATUS_USAGE;
	} else if (has_clock_word(a->query) && has_many_hosts(&f)) {
		struct skew_result result = {0};

		clock = tool_alloc(f.n * sizeof(*clock));
		skew_estimate(&result, clock, &f, 0, UINT64_MAX, 1);
	}
	if (!status) {
		find_sql_files(&files, &f);
		print_missing_warnings(&f, &files);
		print_prelude(
			out, &f, &files, r ? get_report_clock(r, &f) : clock, a->skip_damaged);
		if (r)
			print_findings_view(out, r);
		free_sql_files(&files);
	}
	free_sql_report(r);
	free(clock);
	folders_close(&f);
	return status;
}

static int start_query(const struct asked *a)
{
	enum sql_engine engine = find_engine();
	int fd, status;
	FILE *out;

	if (engine == ENGINE_NONE) {
		tool_error(
			"sql: no DuckDB: neither `duckdb` on PATH nor PyPI's duckdb-cli or duckdb "
			"in python3; python3 -m pip install duckdb-cli");
		return STATUS_USAGE;
	}
	fd = memfd_create("views.sql", 0);
	out = fd < 0 ? NULL : fdopen(dup(fd), "w");
	if (!out) {
		tool_error("sql: %s", strerror(errno));
		return STATUS_USAGE;
	}
	status = write_prelude(out, a);
	if (fclose(out) && !status) {
		tool_error("sql: the views cannot be written: %s", strerror(errno));
		status = STATUS_USAGE;
	}
	if (status || lseek(fd, 0, SEEK_SET) < 0)
		return STATUS_USAGE;
	fflush(NULL);
	return start_engine(engine, fd, a->format, a->query);
}

static bool read_query(struct asked *a, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
	size_t n = 0, cap = 0;

	if (!f || (getdelim(&a->text, &cap, '\0', f) < 0 && ferror(f))) {
		tool_error("sql: --file %s: %s", path, strerror(errno));
		return false;
	}
	n = a->text ? strlen(a->text) : 0;
	if (f != stdin)
		fclose(f);
	if (!n) {
		tool_error("sql: --file %s: the file is empty", path);
		return false;
	}
	a->query = a->text;
	return true;
}

/* One operand: an existing folder, or a query. */
static bool parse_operands(struct asked *a, const char *const *operand, unsigned n)
{
	struct stat st;

	if (n == 2 || (n == 1 && (a->query || !strpbrk(operand[0], " \t\n;") ||
					 (stat(operand[0], &st) == 0 && S_ISDIR(st.st_mode))))) {
		a->dir = operand[0];
		operand++;
		n--;
	}
	if (n && a->query) {
		tool_error("sql: --file and a query cannot be used together");
		return false;
	}
	if (n)
		a->query = operand[0];
	return true;
}

static int parse_sql_options(struct asked *a, int argc, char **argv)
{
	struct cli c = {.argc = argc,
		.argv = argv,
		.options = options,
		.noptions = sizeof(options) / sizeof(*options)};
	const char *operand[2];
	unsigned n = 0;
	int o;

	while ((o = cli_read_argument(&c)) != CLI_END) {
		switch (o) {
		case OPT_JSON:
		case OPT_CSV:
			a->format = o == OPT_JSON ? SQL_JSON : SQL_CSV;
			break;
		case OPT_FILE:
			if (a->text) {
				tool_error("sql: --file %s: only one file", c.value);
				return 1 + STATUS_USAGE;
			}
			if (!read_query(a, c.value))
				return 1 + STATUS_USAGE;
			break;
		case OPT_PRINT:
			a->print = true;
			break;
		case OPT_SKIP:
			a->skip_damaged = true;
			break;
		case CLI_HELP:
			fputs(help, stdout);
			return 1 + STATUS_DONE;
		case CLI_OPERAND:
			if (n == 2) {
				tool_error("sql: %s: too many operands; accepted: a folder and one "
					   "query, in quotes",
					c.value);
				return 1 + STATUS_USAGE;
			}
			operand[n++] = c.value;
			break;
		default:
			return 1 + STATUS_USAGE;
		}
	}
	return parse_operands(a, operand, n) ? 0 : 1 + STATUS_USAGE;
}

int verb_sql(int argc, char **argv)
{
	struct asked a = {.dir = folders_get_default()};
	int status = parse_sql_options(&a, argc, argv);

	if (status)
		status--;
	else if (a.print)
		status = write_prelude(stdout, &a);
	else
		status = start_query(&a);
	free(a.text);
	return tool_close_output(status);
}
