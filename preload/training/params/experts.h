/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of a router of experts: how alike its experts' weights are, how undecided it is, and how it spreads its tokens. Names no
 * framework. Each reads adjacent elements in the host's memory; false: the tensor is another one, or what is asked is not defined.
 */
#ifndef PROBE_TRAIN_EXPERTS_H
#define PROBE_TRAIN_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

#define EXPERTS_MAX 4096
#define TOP_MAX 64 /* experts of one token */

/*
 * Mean over i < j of cos(w_i, w_j). w: a matrix; its experts are the rows if there are fewer rows than columns, else the columns; at
 * least 2. A norm below 1e-12 counts as that. As msprobe 26.2.0 has it (pytorch/monitor/features.py,
 * cal_router_weight_similarity).
 */
bool compute_router_similarity(const struct buffer *w, double *similarity);

/*
 * Mean over the tokens of -sum p ln p with p = softmax(logits) over the last dimension. A token with a NaN, or without any finite
 * logit, counts as 0. As msprobe 26.2.0 has it (cal_per_token_expert_entropy).
 */
bool compute_expert_entropy(const struct buffer *logits, double *entropy);

/* Tokens of each expert. */
struct expert_counts {
	uint32_t n; /* experts */
	double at[EXPERTS_MAX];
};

/* Indices of experts, integers from 0 to n - 1, of any shape; n is set by the caller. Others are not counted. */
bool compute_index_counts(const struct buffer *indices, struct expert_counts *c);

/* A mask: booleans whose last dimension is the experts. */
bool compute_mask_counts(const struct buffer *mask, struct expert_counts *c);

/* The k largest logits of each token, the first of equal ones. */
bool compute_top_counts(const struct buffer *logits, uint32_t k, struct expert_counts *c);

/* A tensor that has the numbers themselves. */
bool read_expert_counts(const struct buffer *counts, struct expert_counts *c);

/*
 * f_i: share of expert i in all tokens; N experts.
 *
 *	drop_rate            sum of max(0, f_i - capacity_factor / N) (MindSpore Transformers 2.1.0, MoEDropRateCallback)
 *	utilization_min,     least and largest f_i N: 1 is an even share (NeMo Automodel, load_balance_metrics.py)
 *	utilization_max
 *	cv                   standard deviation over mean of the tokens, with N - 1 (the same)
 *	dead_share           share of experts without a token
 *	diversity            e^H / N with H = -sum f_i ln f_i: 1 is even, 1 / N one expert
 */
struct expert_balance {
	double drop_rate, utilization_min, utilization_max, cv, dead_share, diversity;
};

/* False: no token. */
bool compute_expert_balance(
	const struct expert_counts *c, double capacity_factor, struct expert_balance *b);

#endif
