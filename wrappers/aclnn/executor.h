/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of an operator's first phase, kept until its second phase, which only gets the executor. That may be on
 * another thread, and after the tensors are gone.
 */
#ifndef PROBE_WRAPPERS_ACLNN_EXECUTOR_H
#define PROBE_WRAPPERS_ACLNN_EXECUTOR_H

#include "wrappers/aclnn/acl_tensor.h"
#include "wrappers/aclnn/operator.h"

#define ACLNN_TENSORS_MAX 64
#define ACLNN_GROUP_MAX 128 /* of HCCL's GROUP_NAME_MAX_LEN, with its end */

struct aclnn_tensor {
	struct acl_tensor t;
	uint8_t word; /* which of the arguments */
	uint8_t item; /* its position in a list, from 1, 0: not in a list */
};

struct aclnn_candidate {
	uint8_t word;
	uint64_t executor,
		bytes; /* the value there, and in the word before, after the first phase */
};

#define CANDIDATES_MAX 16

struct aclnn_executor {
	uint64_t handle; /* 0: the place is free, or it is one of the candidates' */
	const struct aclnn_operator *op; /* NULL: free */
	uint64_t age;
	bool repeatable; /* it is put on streams repeatedly, possibly with other addresses */
	bool ending; /* a call that ends it is in progress: it is no longer found */
	bool more; /* it has more tensors */
	uint8_t n, ncandidates;
	struct aclnn_candidate candidate[CANDIDATES_MAX];
	uint8_t group_word;
	char group[ACLNN_GROUP_MAX]; /* "": none */
	struct aclnn_tensor tensor[ACLNN_TENSORS_MAX];
};

/* A first phase has succeeded: words: its arguments, API_OPEN_WORDS of them. */
void aclnn_executor_made(struct aclnn_operator *op, const uint64_t *words);

/* Words from `end` on are not arguments. Called with a lock held that is a leaf. */
typedef void aclnn_executor_fn(const struct aclnn_executor *x, unsigned end, void *arg);

/*
 * Finds the executor for the operator's second phase. bytes: the workspace's size. False: its first phase was not seen.
 */
bool aclnn_executor_find(struct aclnn_operator *op, uint64_t handle, uint64_t bytes,
	aclnn_executor_fn *fn, void *arg);

/* Its second phase succeeded, which ends an executor that is not repeatable. age: of the one that was found. */
void aclnn_executor_used(uint64_t handle, uint64_t age);

void aclnn_executor_repeatable(uint64_t handle);
/* Like acl_tensor_claim() and acl_tensor_settle(). */
void aclnn_executor_claim(uint64_t handle);
void aclnn_executor_settle(uint64_t handle, bool ended);

void aclnn_executors_forked(void);

#endif
