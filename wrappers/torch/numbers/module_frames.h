/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules that a thread is calling, for operators and collectives, which run without the GIL. Only calls of named modules in
 * training mode, in a forward pass and a step whose values are written; wrappers/torch/passes/attention_modules.c fills it.
 */
#ifndef PROBE_WRAPPERS_TORCH_MODULE_FRAMES_H
#define PROBE_WRAPPERS_TORCH_MODULE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

struct module_frame {
	const char *
		name; /* lives as long as the process; NULL: it has none, or its call does not count */
	const char *
		router; /* a router that it has called; NULL: none, or its tokens were already sent */
	uint16_t vpp_stage;
	uint16_t experts; /* ... of that router, if it does not show their tokens; 0: it does */
	uint16_t heads; /* attribute num_heads or the like; 0: none */
	bool target; /* by key targets */
	bool sink; /* it has a parameter for an attention sink */
	bool tracked; /* it has a tensor with its largest logits */
};

/* The call at that depth, from 0, begins; those at it and within it have ended. Calls that are too deep are not kept. */
void open_module_frame(uint32_t depth, const struct module_frame *f);
void close_module_frames(uint32_t depth);

/* The module of the call at that depth has called a router with that many experts whose tokens are not known; 0: they are. */
void record_router_call(uint32_t depth, const char *router, uint32_t experts);

/* The innermost call that counts, for up = 0; the next ones around it. NULL: there is none. */
struct module_frame *find_module_frame(uint32_t up);

#endif
