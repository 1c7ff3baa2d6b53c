/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_CHECK_H
#define PROBE_TOOLS_CHECK_H

#include "config/config.h"
#include "tools/probe/run/checked.h"

/* One `probe check` run. */
struct check {
	char *library, *dir;
	const char *const *argv; /* the command line */
	char *obstacle; /* why the preload cannot work for this program; NULL: no reason is known */
	char *runtime; /* the sanitizer runtime that must precede libprobe.so; NULL: none */
	int status; /* status of the command from waitpid() */
	struct checked seen;
	char **exports; /* exported functions from its symbol table, if libprobe.so did not list them */
	unsigned nexports;
	struct config cfg; /* configuration that a job started here would have */
	bool off; /* PROBE_DISABLE is set */
	bool all, json;
};

/* Prints the result. Returns STATUS_DONE or STATUS_PROBLEM. */
int check_show(const struct check *k);
void check_show_exports(const struct check *k);

#endif
