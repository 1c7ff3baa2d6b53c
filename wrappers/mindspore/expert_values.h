/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds router_similarity, expert_entropy, tokens_per_expert and expert_balance of MindSpore
 * (training/params/experts.h), from kernels outside backward passes. A router is a parameter
 * <cell>.weight, a matrix, whose cell is named gate or router (or router.dense), or is one of key
 * router_targets. Its logits are the first result of a kernel that gets this parameter and whose
 * last dimension is the number of experts. The logits are followed through kernels that keep their
 * shape, to the kernel that chooses experts.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_EXPERT_VALUES_H
#define PROBE_WRAPPERS_MINDSPORE_EXPERT_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "wrappers/mindspore/layout/kernel.h"

/* True if a kernel of this name has indices of the largest elements among its outputs. */
bool is_choosing_kernel(const char *name);
/* True if a kernel of this name only copies its first input: to another type, or transposed. */
bool is_copying_kernel(const char *name);

/* True if these kinds are wanted, and are written in this step. */
bool is_routing_due(void);

/* A kernel outside a backward pass has run. Needs 64 KiB of stack. */
void ms_record_experts(const struct ms_kernel *k, const struct kernel_tensors *in,
	const struct kernel_tensors *out);

/*
 * Names of parameters are known from now on: writes the rows of routers that had no name until
 * now, and drops those of other matrices. Needs some KiB of stack.
 */
void ms_write_unnamed_experts(void);

void ms_experts_forked(void);

#endif
