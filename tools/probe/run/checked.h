/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a `probe check` run wrote: <pid>.check, a line "# libprobe VERSION PID PROGRAM" and one line per
 * exported function: symbol, library, state, hits, object that has the real function, note; separated by tabs; and
 * lines "# note TEXT" "# record CALLS RANK"
 * and "# layout NAME STATE VERSIONS VERIFIED-BY OFF", with tabs.
 */
#ifndef PROBE_TOOLS_CHECKED_H
#define PROBE_TOOLS_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lib/table.h"

/* CHECKED_REFUSED: listed, but it cannot be wrapped. */
enum checked_state { CHECKED_MISSING, CHECKED_REFUSED, CHECKED_SKIPPED, CHECKED_OK };

/* A function over all processes, with the best state of all. */
struct checked_function {
	struct table_key key;
	uint32_t name, lib; /* interned */
	enum checked_state state;
	bool found; /* some loaded object defines it */
	uint64_t hits;
	char *where, *note; /* "" unknown, none */
};

/* A row of the library's table of facts (api/layout_fact.h), with the worst state of all processes. */
struct checked_fact {
	char *name, *versions, *verified_by, *off;
	char *state;
};

struct checked_process {
	long pid;
	char *program, *version;
	uint64_t hits, record; /* record: calls that would have been recorded */
	int rank; /* -1: not known */
	bool told; /* record and rank are known */
};

struct checked {
	struct table functions;
	struct checked_process *process;
	unsigned n, cap;
	unsigned unreadable;
	struct checked_fact *fact;
	unsigned nfact, factcap;
	char **note; /* further notes of processes, each once */
	unsigned nnote, notecap;
};

void checked_read(struct checked *c, const char *dir);
void checked_free(struct checked *c);

/*
 * The functions that a library exports, by the loader's table (.dynsym), sorted. NULL (reported) if the file cannot be read. Free each and
 * the list.
 */
char **exports_of(const char *library, unsigned *n);

#endif
