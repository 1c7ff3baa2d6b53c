/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of an operator's first phase, kept until its second phase, whose only reference
 * to them is the executor. The second phase may be on another thread, and after the tensors were
 * destroyed.
 */
#ifndef PROBE_WRAPPERS_ACLNN_EXECUTOR_H
#define PROBE_WRAPPERS_ACLNN_EXECUTOR_H

#include "wrappers/aclnn/acl_tensor.h"
#include "wrappers/aclnn/operator.h"

#define ACLNN_TENSORS_MAX 64
#define ACLNN_GROUP_MAX 128 /* GROUP_NAME_MAX_LEN of HCCL, including the NUL */

struct aclnn_tensor {
	struct acl_tensor t;
	uint8_t word; /* index of the argument word */
	uint8_t item; /* position in a list argument, from 1; 0: not in a list */
};

struct aclnn_candidate {
	uint8_t word;
	/*
	 * Values after the first function has run: *word as an executor, and *(the previous word)
	 * as the workspace's size.
	 */
	uint64_t executor, bytes;
};

#define CANDIDATES_MAX 16

struct aclnn_executor {
	uint64_t handle; /* 0: the entry is free, or the handle is one of the candidates */
	const struct aclnn_operator *op; /* NULL: the entry is free */
	uint64_t age;
	bool repeatable; /* may be put on streams repeatedly, possibly with other addresses */
	bool ending; /* a call that ends the executor is in progress: it is no longer found */
	bool more; /* has more tensors than are stored here */
	uint8_t n, ncandidates;
	struct aclnn_candidate candidate[CANDIDATES_MAX];
	uint8_t group_word;
	char group[ACLNN_GROUP_MAX]; /* name of the communicator, "": none */
	struct aclnn_tensor tensor[ACLNN_TENSORS_MAX];
};

/* Called after a successful first phase. words: its API_OPEN_WORDS argument words. */
void aclnn_executor_add(struct aclnn_operator *op, const uint64_t *words);

/* end: words from this index on are not arguments. Called with a leaf lock held. */
typedef void aclnn_executor_fn(const struct aclnn_executor *x, unsigned end, void *arg);

/*
 * Finds the executor for the operator's second phase and calls fn with it. bytes: size of the
 * workspace. Returns false if the first phase was not seen.
 */
bool aclnn_executor_find(struct aclnn_operator *op, uint64_t handle, uint64_t bytes,
	aclnn_executor_fn *fn, void *arg);

/*
 * Called after a successful second phase, which ends an executor that is not repeatable. age:
 * that of the executor that was found.
 */
void aclnn_executor_used(uint64_t handle, uint64_t age);

void aclnn_executor_set_repeatable(uint64_t handle);
/* Like acl_tensor_start_ending() and acl_tensor_handle_ended(). */
void aclnn_executor_start_ending(uint64_t handle);
void aclnn_executor_handle_ended(uint64_t handle, bool ended);

void aclnn_executors_forked(void);

#endif
