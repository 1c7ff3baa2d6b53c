/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of attention from PyTorch's operators (training/params/attention.h), each in the module that calls it:
 *
 *	max_attention_logit   input of _softmax over the last dimension: [batch, heads, queries, keys], or [batch x heads, queries,
 *	                      keys] in a module that says how many heads it has; logsumexp of the fused operator for the CPU
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

/* True if that operator (name of its C++ struct) is observed for a kind that is wanted. */
bool is_attention_op(const char *name);
void set_attention_op(struct torch_function *r, const char *name);

/* It has returned. */
void record_attention_op(const struct call *c);

/* True if kinds of attention are wanted; if the current step is one of theirs. */
bool is_attention_wanted(void);
bool is_attention_due(void);

/* Writes the largest logits of that module's heads. one: it has a single number, which is not a head's. */
void write_max_logits(const struct module_frame *f, const struct max_logits *m, bool one);

/* A forward pass of a whole model has ended in such a step: notes kinds that have no value. */
void check_attention_values(void);

#endif
