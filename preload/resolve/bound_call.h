/* SPDX-License-Identifier: Apache-2.0 */
/* For a call that is bound to one particular function (entry/stubs/bound_stub.c). */
#ifndef PROBE_RESOLVE_BOUND_CALL_H
#define PROBE_RESOLVE_BOUND_CALL_H

#include <stddef.h>

#include "api/api.h"
#include "base/thread.h"

struct bound {
	void *wrapper; /* must be the first member: bound_enter jumps to it */
	struct api *api;
	void *real;
};

extern __thread const struct bound *bound_now THREAD_TLS __attribute__((visibility("hidden")));

/*
 * Returns the function that this call of f is bound to, or NULL. Must be called only once per
 * call.
 */
static inline void *bound_take(const struct api *f)
{
	const struct bound *b = bound_now;

	if (__builtin_expect(!b, 1) || b->api != f)
		return NULL;
	bound_now = NULL;
	return b->real;
}

#endif
