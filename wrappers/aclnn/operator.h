/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about an Ascend operator, from its name and from its calls. */
#ifndef PROBE_WRAPPERS_ACLNN_OPERATOR_H
#define PROBE_WRAPPERS_ACLNN_OPERATOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct aclnn_operator {
	struct aclnn_operator *next;
	bool in_place; /* writes its first tensor */
	bool communicates; /* has the name of a communicator as argument */
	uint64_t writes, both; /* writes.def; 0: not there */
	/*
	 * Which of its words is the address of the executor, the last argument; words after it are not arguments. 0: not known
	 * yet; the first call whose executor is put on a stream shows it.
	 */
	_Atomic uint8_t executor_word;
	char name[]; /* Matmul */
};

/* The operator of that name, the same for both phases and for all copies of a library. NULL: no memory. Under the stub lock. */
struct aclnn_operator *aclnn_operator_of(const char *name);

#endif
