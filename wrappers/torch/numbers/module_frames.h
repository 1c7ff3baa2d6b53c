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
		name; /* lives as long as the process; NULL: the module has no name, or its call does not count */
	const char *
		router; /* the router that the module has called; NULL: none, or its tokens were already sent */
	uint16_t vpp_stage;
	/* number of the router's experts if their tokens are unknown; 0: they are known */
	uint16_t experts;
	uint16_t heads; /* attribute num_heads or the like; 0: none */
	bool target; /* key targets selects the module */
	bool sink; /* the module has a parameter for an attention sink */
	bool tracked; /* the module has a tensor of its largest logits */
};

/*
 * The module call at `depth` (from 0) begins. Removes the previous call at this depth and the calls inside it. Calls that are
 * nested too deeply are not stored.
 */
void open_module_frame(uint32_t depth, const struct module_frame *f);
/* Removes the calls at `depth` and deeper. */
void close_module_frames(uint32_t depth);

/* The module of the call at `depth` has called a router. experts: number of its experts if their tokens are unknown, else 0. */
void record_router_call(uint32_t depth, const char *router, uint32_t experts);

/* Returns the innermost call that counts (up = 0), or the up-th one around it. NULL: there is none. */
struct module_frame *find_module_frame(uint32_t up);

#endif
