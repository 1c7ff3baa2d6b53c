/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of monitor.log with the tokens of each expert, as MindSpore Transformers' PyNative engine formats them (2.1.0,
 * pynative/tools/monitor.py, MoeMonitor.flush), which is Megatron's format:
 *
 *	{"iter": 9, "step": 3, "micro_step": 0, "block": "decoder", "layer": 2, "tpe": [[12, 0, 7, 13]]}
 *	{"iter": 9, "step": 3, "micro_step": 0, "block": "mtp", "mtp_idx": 0, "layer": 0, "tpe": [[8, 8, 8, 8]]}
 */
#ifndef PROBE_FORMATS_MONITOR_TOKENS_LINES_H
#define PROBE_FORMATS_MONITOR_TOKENS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

struct ranges;

/* A row of kind tokens_per_expert, such as `decoder.layers.2.mlp.router/expert_0`. */
struct token_count {
	const char *name;
	uint64_t tokens;
	uint32_t micro_step;
};

struct tokens_step {
	uint64_t step; /* from 1 */
	uint64_t micro_steps_before; /* of all earlier steps */
	uint64_t interval; /* only every n-th micro step of the training has lines */
	/* Only these decoder layers have lines. Empty: all decoder layers, and the layers of multi-token prediction. */
	const struct ranges *layers;
};

/* Returns false if there is no memory. */
typedef bool tokens_line_fn(void *arg, const struct text *line);

/*
 * Gives the lines of a step to `add`: by block and layer, then by micro step. The rows of a router's call must be in the order of
 * its experts. A router without `layers.<n>` in its name has no line. Returns false if there is no memory.
 */
bool write_tokens_lines(const struct token_count *count, size_t n, const struct tokens_step *step,
	tokens_line_fn *add, void *arg);

#endif
