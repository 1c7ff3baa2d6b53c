/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a call comes from, as a dump names it: the function of the framework's Python side that the program called, and the
 * program's own frames. Both are read from the text of the Python stack.
 */
#ifndef PROBE_SINK_DUMP_SITE_H
#define PROBE_SINK_DUMP_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dump_source;

#define SITE_NAME_MAX 96

struct dump_site {
	char *frames; /* a JSON array of texts, as the peer has them */
	char *line; /* the program's source line that called; "": not known */
	uint64_t caller; /* hash of the program's frames, the call's line included; 0: none */
	bool batch; /* within batch_isend_irecv */
	bool engine; /* a backward pass made the call itself, and no function of Python */
	char dist
		[SITE_NAME_MAX]; /* function of torch.distributed nearest to the call, "": it came from C++ */
	char prefix[16],
		api[SITE_NAME_MAX]; /* Functional, Torch, Tensor where a function of Python made the call; "" */
};

/* text: frames `file:line function`, innermost first, joined by " <- ". NULL: no memory. */
struct dump_site *dump_site_new(const char *text, struct dump_source *source);
void dump_site_free(struct dump_site *s);

/*
 * By what Python name the operator `op` (of the schema: add.Tensor) was called there: prefix ("Torch") and function. False:
 * the line does not say.
 */
bool dump_site_operator(
	const struct dump_site *s, const char *op, const char **prefix, char *api, size_t cap);

/* Does the call on that line give the argument by that name (`dst=`)? */
bool dump_site_has_keyword(const struct dump_site *s, const char *name);

#endif
