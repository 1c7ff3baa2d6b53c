/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that update a parameter, one at each call: which of their inputs is what. */
#ifndef PROBE_WRAPPERS_MINDSPORE_UPDATE_KERNEL_H
#define PROBE_WRAPPERS_MINDSPORE_UPDATE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places among the inputs, of which the parameter is the first (0): 0 means that there is none. */
struct update_kernel {
	char name[24];
	uint8_t written; /* so many of its first inputs are its results, whatever its outputs are */
	uint8_t grad, rate; /* gradient, learning rate */
	uint8_t exp_avg, exp_avg_sq; /* Adam's moments, and those of its like */
	uint8_t state; /* what else it keeps for a parameter, and the name that it has there */
	char state_name[16];
};

/* NULL: that kernel updates nothing that is known. */
const struct update_kernel *update_kernel_of(const char *name);

/*
 * Lengths of what is in front of the longest end that both names share, from the begin of a part in each: "opt.", "opt.moment1."
 * of opt.conv.weight and opt.moment1.conv.weight. False: they share none, or the state's has nothing in front of it.
 */
bool update_name_fronts(
	const char *parameter, const char *state, size_t *front, size_t *state_front);

#endif
