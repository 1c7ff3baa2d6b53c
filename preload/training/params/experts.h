/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers about a router of experts: how similar the experts' weights are, how undecided the
 * router is, and how it distributes tokens. Names no framework. Each function reads contiguous
 * elements in host memory. It returns false if the tensor has another layout or type, or the
 * number is not defined.
 */
#ifndef PROBE_TRAIN_EXPERTS_H
#define PROBE_TRAIN_EXPERTS_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

#define EXPERTS_MAX 4096
#define TOP_MAX 64 /* maximum number of experts for a token */

/*
 * Mean over i < j of cos(w_i, w_j). w: a matrix; w_i are its rows if it has fewer rows than
 * columns, else its columns; at least 2. A norm below 1e-12 counts as 1e-12. As in msprobe 26.2.0
 * (pytorch/monitor/features.py, cal_router_weight_similarity).
 */
bool compute_router_similarity(const struct buffer *w, double *similarity);

/*
 * Mean over the tokens of -sum p ln p with p = softmax(logits) over the last dimension. A token
 * with a NaN, or without any finite logit, counts as 0. As in msprobe 26.2.0
 * (cal_per_token_expert_entropy).
 */
bool compute_expert_entropy(const struct buffer *logits, double *entropy);

/* Number of tokens of each expert. */
struct expert_counts {
	uint32_t n; /* number of experts */
	double at[EXPERTS_MAX];
};

/*
 * Counts indices of experts: integers of any shape, from 0 to n - 1; the caller sets n. Other
 * values are not counted.
 */
bool compute_index_counts(const struct buffer *indices, struct expert_counts *c);

/* Counts a mask: booleans whose last dimension is that of the experts. */
bool compute_mask_counts(const struct buffer *mask, struct expert_counts *c);

/* Counts the k largest logits of each token; of equal ones, the first. */
bool compute_top_counts(const struct buffer *logits, uint32_t k, struct expert_counts *c);

/* Reads a tensor that contains the counts themselves. */
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

/* Returns false if there are no tokens. */
bool compute_expert_balance(
	const struct expert_counts *c, double capacity_factor, struct expert_balance *b);

#endif
