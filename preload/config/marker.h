/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of key step_marker. Its forms:
 *
 *	MPI_Barrier, lib::function	a function, by its name in the list
 *	language:file:function		a function of a language that runs in the process
 */
#ifndef PROBE_CONFIG_MARKER_H
#define PROBE_CONFIG_MARKER_H

#include <stdbool.h>
#include <stddef.h>

enum marker_form { MARKER_NONE, MARKER_FUNCTION, MARKER_LANGUAGE };

/* MARKER_LANGUAGE: parts of the parsed text, not NUL-terminated. */
struct marker {
	enum marker_form form;
	const char *language, *file, *function;
	size_t nlanguage, nfile, nfunction;
};

/* Returns NULL, or a static text that explains why no call could ever match. */
const char *marker_parse(const char *text, size_t len, struct marker *m);

/*
 * True if a frame belongs to the function of m. A file matches by its last path components, a
 * name with or without its class.
 */
bool marker_is(
	const struct marker *m, const char *language, const char *file, const char *function);

#endif
