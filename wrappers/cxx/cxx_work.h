/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: asynchronous calls that return an object (a Work, a
 * future) which represents the call until it is complete, and the tensors of a call as they were
 * described. The adapter knows which object that is, and when the call completes.
 */
#ifndef PROBE_WRAPPERS_CXX_WORK_H
#define PROBE_WRAPPERS_CXX_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "call/call.h"

#define CXX_DIMS_MAX 8
/* maximum number of inputs, and of outputs; additional ones have no rows */
#define CXX_TENSORS_MAX 64

/* Describes a tensor of the framework in *v. Returns false if it gets no row. */
typedef bool cxx_tensor_fn(const void *tensor, struct buffer *v);

/* A pending call, with its tensors as they were described. */
struct cxx_work {
	struct cxx_work *next; /* next unused struct */
	struct cxx_work *outer; /* the thread's enclosing call */
	/*
	 * References: one by the call, and one by its completion as soon as the call can complete
	 * (on another thread, possibly before it has returned).
	 */
	_Atomic uint32_t users;
	struct call *call; /* valid while the function runs */
	uint32_t depth; /* the thread's nesting depth at entry */
	const void *handle; /* address of the returned object */
	bool started; /* an object represents the call: the memory is freed at completion */
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

/*
 * Makes the work for a call that is being described. Returns NULL if there is no memory, or too
 * many calls are pending.
 */
struct cxx_work *cxx_work_add(struct call *c, cxx_tensor_fn *describe);
/*
 * For an adapter's passed(): this call has no description, and that of an earlier call must not
 * be used for it.
 */
void cxx_work_reset(void);
struct cxx_work *cxx_work_get(const struct call *c); /* NULL: none */
/*
 * Returns the work of the call that encloses the function which this thread has just entered, or
 * NULL.
 */
struct cxx_work *cxx_work_get_enclosing(void);

/* From now on the object `handle` represents the call. */
void cxx_work_set_object(struct cxx_work *w, const void *handle);

/*
 * The call represented by `handle` is complete. c: the call that shows this; flags: CF_ERROR, or
 * 0.
 */
void cxx_work_handle_end(struct call *c, const void *handle, uint64_t end, uint32_t flags);

/*
 * The function of w has returned, and an object represents the call: its record stays open.
 * Called from the adapter's leave.
 */
void cxx_work_handle_return(struct call *c, struct cxx_work *w);

void cxx_work_forked(void);

#endif
