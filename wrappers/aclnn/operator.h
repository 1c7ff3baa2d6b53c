/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of an operator of Ascend's by its name, and what its calls have shown. */
#ifndef PROBE_WRAPPERS_ACLNN_OPERATOR_H
#define PROBE_WRAPPERS_ACLNN_OPERATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct aclnn_operator {
	struct aclnn_operator *next;
	bool in_place; /* writes its first tensor */
	bool communicates; /* is given the name of a communicator */
	uint64_t writes, both; /* writes.def; 0: not there */
	/*
	 * Which of its words is the address of the executor, the last argument: what lies behind is no argument. 0: not known yet;
	 * the first call whose executor is put on a stream shows it.
	 */
	_Atomic uint8_t executor_word;
	char name[]; /* Matmul */
};

/* The one of that name, the same for both phases and for all copies of a library. NULL: no memory. Under the stub lock. */
struct aclnn_operator *aclnn_operator_of(const char *name);

#endif
