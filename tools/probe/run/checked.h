/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the files that the processes of a `probe check` run wrote: a file <pid>.check with tab-separated
 * fields: a line "# libprobe VERSION PID PROGRAM"; a line for each exported function (symbol,
 * library, state, hits, object that has the real function, note); and lines "# note TEXT", "#
 * record CALLS RANK" and "# layout NAME STATE VERSIONS VERIFIED-BY OFF".
 */
#ifndef PROBE_TOOLS_CHECKED_H
#define PROBE_TOOLS_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/table.h"

/* CHECKED_REFUSED: listed in the configuration, but it cannot be wrapped. */
enum checked_state { CHECKED_MISSING, CHECKED_REFUSED, CHECKED_SKIPPED, CHECKED_OK };

/* A function, with its best state in any process. */
struct checked_function {
	struct table_key key;
	uint32_t name, lib; /* interned */
	enum checked_state state;
	bool found; /* a loaded object defines it */
	uint64_t hits;
	char *where, *note; /* "": not known, or no note */
};

/*
 * A row of the library's table of facts (api/layout_fact.h), with its worst state in any process.
 */
struct checked_fact {
	char *name, *versions, *verified_by, *off;
	char *state;
};

struct checked_process {
	long pid;
	char *program, *version;
	uint64_t hits, record; /* record: number of calls that would have been recorded */
	int rank; /* -1: not known */
	bool told; /* `record` and `rank` are set */
};

struct checked {
	struct table functions;
	struct checked_process *process;
	unsigned n, cap;
	unsigned unreadable;
	struct checked_fact *fact;
	unsigned nfact, factcap;
	char **note; /* other notes of processes, each once */
	unsigned nnote, notecap;
};

void checked_read(struct checked *c, const char *dir);
void checked_free(struct checked *c);

/*
 * Returns the names of the functions that a library exports (.dynsym), sorted; *n: their number.
 * The caller frees each name and the list. Returns NULL if the file cannot be read (reported).
 */
char **read_library_exports(const char *library, unsigned *n);

#endif
