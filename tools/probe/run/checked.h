/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the processes of a `probe check` run wrote: <pid>.check, a line "# libprobe VERSION PID PROGRAM" and one line per
 * exported function: symbol, library, state, hits, object that has the real function, note; separated by tabs; and
 * lines "# note TEXT".
 */
#ifndef PROBE_TOOLS_CHECKED_H
#define PROBE_TOOLS_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/probe/table.h"

enum checked_state { CHECKED_MISSING, CHECKED_SKIPPED, CHECKED_OK };

/* A function over all processes; the best state of all. */
struct checked_function {
	struct table_key key;
	uint32_t name, lib; /* interned */
	enum checked_state state;
	bool found; /* some loaded object defines it */
	uint64_t hits;
	char *where, *note; /* "" unknown, none */
};

struct checked_process {
	long pid;
	char *program, *version;
	uint64_t hits;
};

struct checked {
	struct table functions;
	struct checked_process *process;
	unsigned n, cap;
	unsigned unreadable;
	char **note; /* what processes had to say beside, each once */
	unsigned nnote, notecap;
};

void checked_read(struct checked *c, const char *dir);
void checked_free(struct checked *c);

/*
 * The functions that a library exports, by the loader's table (.dynsym), sorted. NULL (reported) when the file cannot be
 * read. Free each and the list.
 */
char **exports_of(const char *library, unsigned *n);

#endif
