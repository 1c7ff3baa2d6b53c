/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_CHECK_H
#define PROBE_TOOLS_CHECK_H

#include "config/config.h"
#include "tools/probe/run/checked.h"

/* One `probe check` run. */
struct check {
	char *library, *dir;
	const char *const *argv; /* of the command */
	char *obstacle; /* why the preload cannot work for this program; NULL: no reason is known */
	char *runtime; /* the sanitizer runtime that must come before the library; NULL: none */
	int status; /* of the command, as waitpid() gave it */
	struct checked seen;
	char **exports; /* used if the library does not describe itself */
	unsigned nexports;
	struct config cfg; /* of a job started from here */
	bool off; /* PROBE_DISABLE is set */
	bool all, json;
};

/* Prints what was seen. Returns STATUS_DONE or STATUS_PROBLEM. */
int check_show(const struct check *k);
void check_show_exports(const struct check *k);

#endif
