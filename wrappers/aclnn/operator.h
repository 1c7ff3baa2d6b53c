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
	bool communicates; /* has an argument with the name of a communicator */
	uint64_t writes, both; /* bits of writes.def; 0: not listed there */
	/*
	 * Index of the argument word with the address of the executor, which is the last
	 * argument; words after it are not arguments. 0: not known yet; the first call whose
	 * executor is put on a stream shows it.
	 */
	_Atomic uint8_t executor_word;
	char name[]; /* such as Matmul */
};

/*
 * Returns the operator with this name, the same one for both phases and for all copies of a
 * library. Returns NULL if there is no memory. Called with the stub lock.
 */
struct aclnn_operator *aclnn_operator_find_or_add(const char *name);

#endif
