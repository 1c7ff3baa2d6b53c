/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of attention: the largest logit, and how evenly each row is spread over the keys. Names no framework. Each function reads
 * tensors in host memory, of any strides. It returns false if a tensor has another shape or type, or the number is not defined.
 */
#ifndef PROBE_TRAIN_ATTENTION_H
#define PROBE_TRAIN_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

#define ATTENTION_HEADS_MAX 512
#define ATTENTION_WIDTH_MAX 512 /* elements of a query */

/*
 * Bounds of the largest logit of each head. They are equal if it is known exactly; lower is -Inf if only an upper bound is known.
 * Both are NaN if a logit is NaN. upper is -Inf if all keys of the head are masked.
 */
struct max_logits {
	uint32_t heads;
	struct {
		double upper, lower;
	} at[ATTENTION_HEADS_MAX];
};

/*
 * From the input of a softmax over the last dimension: [batch, heads, queries, keys]; or, if `heads` is not 0, [batch x heads,
 * queries, keys].
 */
bool compute_max_logits(const struct buffer *logits, uint32_t heads, struct max_logits *m);

/*
 * From logsumexp, [batch, heads, queries], in natural logarithms. A row's largest logit is at most its logsumexp, and at least
 * that less ln(keys that are not masked); a row without such keys is skipped. keys: of a row without masks. causal: row i sees
 * the keys 0 to i. mask: added to the logits, -Inf masks; or booleans, false masks; [queries, keys] or [batch, heads, queries,
 * keys], each as long or 1; NULL: none.
 */
struct attention_mask {
	uint64_t keys;
	bool causal;
	const struct buffer *mask;
};
bool compute_lse_bounds(
	const struct buffer *lse, const struct attention_mask *mask, struct max_logits *m);

/* Reads a tensor of the largest logits themselves, one per head. */
bool read_max_logits(const struct buffer *values, struct max_logits *m);

/*
 * For the first sequence and head of q and k, [batch, heads, tokens, width] or [heads, tokens, width] with equal numbers of tokens.
 * p is a row of softmax(q k' / sqrt(width)) with a causal mask. Computes the means over rows of -sum p ln p and of max p. As msprobe 26.2.0 does
 * (pytorch/monitor/features.py, cal_qkt and cal_entropy), over all rows. rows_max: maximum number of rows, evenly spaced; 0: all.
 */
struct attention_spread {
	double entropy, softmax_max;
	uint64_t rows, rows_total;
};
bool compute_attention_spread(const struct buffer *q, const struct buffer *k, uint64_t rows_max,
	struct attention_spread *s);

/*
 * Computes the same numbers from the input of a softmax over the last dimension, [batch, heads, queries, keys], for the first head of the
 * first sequence. The model itself has applied scale and mask.
 */
bool compute_logits_spread(
	const struct buffer *logits, uint64_t rows_max, struct attention_spread *s);

#endif
