/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of attention from PyTorch's operators (training/params/attention.h), each in the module that calls it:
 *
 *	max_attention_logit   input of _softmax over the last dimension: [batch, heads, queries, keys], or [batch x heads, queries,
 *	                      keys] in a module with a known number of heads; logsumexp of the fused operator for the CPU
 *	attention_entropy,    query and key of scaled_dot_product_attention
 *	softmax_max
 */
#ifndef PROBE_WRAPPERS_TORCH_ATTENTION_OPS_H
#define PROBE_WRAPPERS_TORCH_ATTENTION_OPS_H

#include <stdbool.h>

#include "training/params/attention.h"

struct call;
struct torch_function;
struct module_frame;

/* True if operator `name` (of its C++ struct) is observed for a kind that is wanted. */
bool is_attention_op(const char *name);
void set_attention_op(struct torch_function *r, const char *name);

/* Such an operator has returned. */
void record_attention_op(const struct call *c);

/* True if kinds of attention are wanted. */
bool is_attention_wanted(void);

/* True if they are written in the current step. */
bool is_attention_due(void);

/* Writes the largest logits of the heads of module f. one: there is a single number, which covers all heads. */
void write_max_logits(const struct module_frame *f, const struct max_logits *m, bool one);

/* To be called when a forward pass of a whole model has ended in such a step: records which kinds have no value. */
void check_attention_values(void);

#endif
