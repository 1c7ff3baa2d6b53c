/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kind tokens_per_rank: how many rows a block of experts sends to each rank, by the split sizes of the first all_to_all of
 * floating-point rows after its router's call, in the module that called the router, or within it. With as many experts as
 * ranks these are tokens of experts, too: kind tokens_per_expert, if the router itself does not show them.
 */
#ifndef PROBE_WRAPPERS_TORCH_SPLIT_SIZES_H
#define PROBE_WRAPPERS_TORCH_SPLIT_SIZES_H

#include <stdbool.h>
#include <stdint.h>

struct buffer;

bool is_split_wanted(void);
bool is_split_due(void);

/* An all_to_all of one tensor among that many ranks. sizes: a std::vector<int64_t>; empty: equal parts. */
void record_split_sizes(int32_t ranks, const struct buffer *in, const void *sizes);

#endif
