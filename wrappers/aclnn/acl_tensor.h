/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of Ascend and lists of them, as the program made them, from aclCreateTensor to
 * aclDestroyTensor. Arguments of operators are recognised as tensors if their handles are in
 * these tables. Several thousand at most; if there are more than a table holds, the oldest are
 * dropped.
 *
 * Locks: one for each shard of either table, leaves.
 */
#ifndef PROBE_WRAPPERS_ACLNN_TENSOR_H
#define PROBE_WRAPPERS_ACLNN_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

#define ACL_DIMS_MAX 8 /* a tensor with more dimensions is recorded without shape */
#define ACL_LIST_MAX 64

struct acl_tensor {
	uint64_t handle; /* 0: the entry is free */
	uint64_t age;
	const char *data;
	int64_t offset; /* of the first element, in elements */
	int64_t dims[ACL_DIMS_MAX], strides[ACL_DIMS_MAX]; /* in elements */
	uint64_t count;
	uint8_t dtype, size; /* enum dtype; bytes of one element, 0: less than a byte */
	uint8_t ndim; /* JOURNAL_NDIM_NONE: too many */
	bool ending; /* a call that ends the tensor is in progress: it is no longer found */
	bool blocked; /* elements are stored in a blocked format */
};

/*
 * Arguments of aclCreateTensor. dims, strides: arrays of n; strides NULL: contiguous, row by row.
 */
struct acl_tensor_args {
	const int64_t *dims, *strides;
	uint64_t n;
	int64_t offset;
	int32_t type, format;
	const void *data;
};

void acl_tensor_add(uint64_t handle, const struct acl_tensor_args *a);

/*
 * For a call that ends the tensor: no other call finds it from now on, because another thread may
 * get the same handle before this call has returned. acl_tensor_handle_ended() must follow: the tensor
 * has ended, or is restored.
 */
void acl_tensor_start_ending(uint64_t handle);
void acl_tensor_handle_ended(uint64_t handle, bool ended);
bool acl_tensor_get(uint64_t handle, struct acl_tensor *t);

/*
 * The address of the tensor's data was changed to `data` (aclSetRawTensorAddr and similar
 * functions).
 */
void acl_tensor_moved(uint64_t handle, const void *data);

void acl_list_add(uint64_t handle, const uint64_t *items, uint64_t n);
/*
 * Like acl_tensor_start_ending(), for a list and the tensors in it, which aclDestroyTensorList ends too.
 */
void acl_list_start_ending(uint64_t handle);
void acl_list_handle_ended(uint64_t handle, bool ended);
/*
 * Stores the first ACL_LIST_MAX tensors of a list in items. Returns their total number, 0 if
 * there is no such list.
 */
uint64_t acl_list_get(uint64_t handle, uint64_t items[ACL_LIST_MAX]);

/* Describes the tensor in *v. dims, strides: arrays for *v, which must live as long as *v. */
void acl_tensor_set_buffer(
	const struct acl_tensor *t, int64_t *dims, int64_t *strides, struct buffer *v);

void acl_tensors_forked(void);

#endif
