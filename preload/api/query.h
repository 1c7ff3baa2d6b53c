/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of a library's communicators, from key `comm:` of a spec. */
#ifndef PROBE_API_QUERY_H
#define PROBE_API_QUERY_H

#include <stdbool.h>
#include <stdint.h>

/* Ways of making a communicator, in `comm: {parent: [...]}`. */
#define COMM_PARENTS_MAX 8

/* A function that returns the rank or size of a communicator: `comm: {rank: ..., size: ...}`. */
struct query {
	const char *function; /* NULL: not given */
	bool comm; /* the first argument is the communicator */
	/*
	 * stores the number through its last argument and returns a code; otherwise it returns
	 * the number
	 */
	bool out;
	uint8_t bytes; /* size of the number: 4 or 8 */
};

/*
 * Calls `function`. Returns the rank or size, or -1 if the function stored none. *code: its
 * return value, 0 if this is the number itself.
 */
static inline int64_t query_read_number(
	const struct query *q, void *function, uint64_t comm, int64_t *code)
{
	union {
		int32_t narrow;
		int64_t wide;
	} out = {.wide = -1};
	int64_t ret;

	if (q->comm && q->out)
		ret = ((int (*)(uint64_t, void *))function)(comm, &out);
	else if (q->comm)
		ret = ((int64_t(*)(uint64_t))function)(comm);
	else if (q->out)
		ret = ((int (*)(void *))function)(&out);
	else
		ret = ((int64_t(*)(void))function)();
	*code = q->out ? ret : 0;
	if (q->out)
		return q->bytes == 8 ? out.wide : out.narrow;
	return q->bytes == 8 ? ret : (int32_t)ret;
}

#endif
