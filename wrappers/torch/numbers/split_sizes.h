/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kind tokens_per_rank: how many rows a block of experts sends to each rank. They are the split sizes of the first all_to_all of
 * floating-point rows after the router's call, in the module that called the router or in a module inside it. If there are as many
 * experts as ranks, the rows are also the tokens of each expert: they are written as kind tokens_per_expert, unless the router
 * itself shows its tokens.
 */
#ifndef PROBE_WRAPPERS_TORCH_SPLIT_SIZES_H
#define PROBE_WRAPPERS_TORCH_SPLIT_SIZES_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;

bool is_split_wanted(void);
bool is_split_due(void);

/* Records an all_to_all of one tensor over `ranks` ranks. sizes: a std::vector<int64_t>; empty: equal parts. */
void record_split_sizes(int32_t ranks, const struct buffer *in, const void *sizes);

#endif
