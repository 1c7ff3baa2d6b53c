/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds max_attention_logit, attention_entropy and softmax_max of MindSpore, from the inputs of softmax kernels outside backward
 * passes. Only tensors of four dimensions, [batch, heads, queries, keys], with the softmax over the last one. A kernel does not
 * show its cell, so rows are named by their order in the step: `softmax_<n>`.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_ATTENTION_VALUES_H
#define PROBE_WRAPPERS_MINDSPORE_ATTENTION_VALUES_H

#include <stdbool.h>

#include "wrappers/mindspore/layout/kernel.h"

bool is_softmax_kernel(const char *name);
bool is_softmax_due(void);

/* Measures the inputs of a softmax kernel that is about to run. Needs some KiB of stack. */
void ms_record_softmax(const struct kernel_tensors *in);

#endif
