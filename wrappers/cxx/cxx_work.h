/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: asynchronous calls that return an object (a Work, a future) which represents the call
 * until it is complete, and the tensors of a call as they were described. The adapter knows which object that is and when it
 * completes; the rest is here.
 */
#ifndef PROBE_WRAPPERS_CXX_WORK_H
#define PROBE_WRAPPERS_CXX_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "call/call.h"

#define CXX_DIMS_MAX 8
#define CXX_TENSORS_MAX 64 /* on one side of a call; further ones have no rows */

/* Describes the framework's tensor at that address. False: it has no row. */
typedef bool cxx_tensor_fn(const void *tensor, struct buffer *v);

/* A pending call: its tensors as they were described. */
struct cxx_work {
	struct cxx_work *next; /* next unused one */
	struct cxx_work *outer; /* the thread's enclosing call */
	/*
	 * References to it: one by the call and, from the moment at which the call can complete (on another thread, possibly
	 * before it has returned), one by its completion.
	 */
	_Atomic uint32_t users;
	struct call *call; /* valid while the function runs */
	uint32_t depth; /* of the thread when it was entered */
	const void *handle; /* of the object that it returns */
	bool started; /* tracked by an object: the memory is freed at its completion */
	uint16_t nin, nout;
	cxx_tensor_fn *describe;
	const void *in_impl[CXX_TENSORS_MAX],
		*out_impl[CXX_TENSORS_MAX]; /* the framework's tensors */
	struct buffer in[CXX_TENSORS_MAX], out[CXX_TENSORS_MAX];
	/*
	 * For a framework whose tensors have no strides unless they are views: inputs, then outputs. Unused for other
	 * frameworks.
	 */
	int64_t strides[2 * CXX_TENSORS_MAX][CXX_DIMS_MAX];
};

/* For a call that is being described. NULL: no memory, or too many pending. */
struct cxx_work *cxx_work_new(struct call *c, cxx_tensor_fn *describe);
/* For an adapter's passed(): the call has no description, and an earlier one does not apply to it. */
void cxx_work_pass(void);
struct cxx_work *cxx_work_of(const struct call *c); /* NULL: it has none */
/* The work of the call that encloses the function this thread has just entered. NULL: none. */
struct cxx_work *cxx_work_around(void);

/* From now on the object represents the call. */
void cxx_work_follow(struct cxx_work *w, const void *handle);

/* The call is complete. c: the call that shows it; flags: CF_ERROR, or 0. */
void cxx_work_finish(struct call *c, const void *handle, uint64_t end, uint32_t flags);

/* The function of w, which is tracked, has returned: its record stays open. Called from the adapter's leave. */
void cxx_work_left(struct call *c, struct cxx_work *w);

void cxx_work_forked(void);

#endif
