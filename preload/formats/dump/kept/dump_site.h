/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call site as a dump names it: the function of the framework's Python side that the program
 * called, and the program's own frames. Both are parsed from the text of the Python stack.
 */
#ifndef PROBE_SINK_DUMP_SITE_H
#define PROBE_SINK_DUMP_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_source;

#define SITE_NAME_MAX 96

struct dump_site {
	char *frames; /* a JSON array of texts, in msprobe's form */
	char *line; /* the program's source line with the call; "": not known */
	uint64_t caller; /* hash of the program's frames, including the line of the call; 0: none */
	bool batch; /* within batch_isend_irecv */
	bool engine; /* the call was made directly by a backward pass, not by a Python function */
	char dist
		/* function of torch.distributed nearest to the call, "": called from C++ */
		[SITE_NAME_MAX];
	/* prefix: Functional, Torch, Tensor if a Python function made the call, else "" */
	char prefix[16], api[SITE_NAME_MAX];
};

/*
 * text: frames `file:line function`, innermost first, joined by " <- ". Returns NULL if there is
 * no memory.
 */
struct dump_site *dump_site_parse(const char *text, struct dump_source *source);
void dump_site_free(struct dump_site *s);

/*
 * Finds the Python name by which the program called operator `op` (its name in the schema:
 * add.Tensor): prefix ("Torch") and function. Returns false if the source line does not show it.
 */
bool dump_site_find_operator(
	const struct dump_site *s, const char *op, const char **prefix, char *api, size_t cap);

/* True if the call on the source line passes argument `name` by name (`dst=`). */
bool dump_site_has_keyword(const struct dump_site *s, const char *name);

#endif
