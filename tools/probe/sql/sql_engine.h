/* SPDX-License-Identifier: Apache-2.0 */
/* The installed DuckDB, which runs the prelude and then the query. */
#ifndef PROBE_TOOLS_PROBE_SQL_ENGINE_H
#define PROBE_TOOLS_PROBE_SQL_ENGINE_H

#include <stdbool.h>

enum sql_format { SQL_TABLE, SQL_JSON, SQL_CSV };

enum sql_engine {
	ENGINE_PROGRAM, /* the program `duckdb` on PATH */
	ENGINE_CLI_MODULE, /* the same program in PyPI's duckdb-cli */
	ENGINE_MODULE, /* the Python module of PyPI's duckdb, which has no prompt */
	ENGINE_NONE
};

enum sql_engine find_engine(void);

/*
 * Replaces this process by DuckDB. prelude: a file descriptor at the start of the file. query NULL:
 * shows a prompt, or runs the statements from stdin. Returns only if that fails: STATUS_USAGE
 * (reported).
 */
int start_engine(enum sql_engine e, int prelude, enum sql_format format, const char *query);

#endif
