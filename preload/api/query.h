/* SPDX-License-Identifier: Apache-2.0 */
/* What a spec's `comm:` says of a library's communicators. */
#ifndef PROBE_API_QUERY_H
#define PROBE_API_QUERY_H

#include <stdbool.h>
#include <stdint.h>

/* Ways of making a communicator, in `comm: {parent: [...]}`. */
#define COMM_PARENTS_MAX 8

/* A function that tells rank or size of a communicator: `comm: {rank: ..., size: ...}`. */
struct query {
	const char *function; /* NULL: not given */
	bool comm; /* its first argument is the communicator */
	bool out; /* it writes the number behind its last argument, and returns a code; else it returns the number */
	uint8_t bytes; /* of the number: 4 or 8 */
};

/* Calls the function. *code: what it returned, 0 where that is the number. Returns the number, -1 if it wrote none. */
static inline int64_t query_comm(
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
