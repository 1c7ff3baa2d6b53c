/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_TOOLS_CHECK_H
#define PROBE_TOOLS_CHECK_H

#include "tools/probe/run/checked.h"

/* One `probe check` run. */
struct check {
	char *library, *dir;
	const char *const *argv; /* of the command */
	char *obstacle; /* why the preload cannot work there; NULL: none is known */
	int status; /* of the command, as waitpid() gave it */
	struct checked seen;
	char **exports; /* where the library says nothing of itself */
	unsigned nexports;
	bool all, json;
};

/* Prints what was seen. Returns STATUS_DONE or STATUS_PROBLEM. */
int check_show(const struct check *k);
void check_show_exports(const struct check *k);

#endif
