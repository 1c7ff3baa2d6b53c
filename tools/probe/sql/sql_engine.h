/* SPDX-License-Identifier: Apache-2.0 */
/* The DuckDB of this machine, which reads the prelude and answers the query. */
#ifndef PROBE_TOOLS_PROBE_SQL_ENGINE_H
#define PROBE_TOOLS_PROBE_SQL_ENGINE_H

#include <stdbool.h>

enum sql_format { SQL_TABLE, SQL_JSON, SQL_CSV };

enum sql_engine {
	ENGINE_PROGRAM, /* `duckdb` on PATH */
	ENGINE_CLI_MODULE, /* that program, in PyPI's duckdb-cli */
	ENGINE_MODULE, /* PyPI's duckdb, which has no prompt */
	ENGINE_NONE
};

enum sql_engine find_engine(void);

/*
 * Becomes DuckDB. prelude: a file descriptor, at its beginning. query NULL: a prompt, or the statements that stdin has. Returns only when
 * that fails: STATUS_USAGE (reported).
 */
int start_engine(enum sql_engine e, int prelude, enum sql_format format, const char *query);

#endif
