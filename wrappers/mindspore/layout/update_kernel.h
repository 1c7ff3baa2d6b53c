/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that update one parameter per call, and the roles of their inputs. */
#ifndef PROBE_WRAPPERS_MINDSPORE_UPDATE_KERNEL_H
#define PROBE_WRAPPERS_MINDSPORE_UPDATE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indices among the inputs, of which the parameter is the first (0): 0 means that there is none. */
struct update_kernel {
	char name[24];
	/* number of its first inputs that are its results, whatever its outputs are */
	uint8_t written;
	uint8_t grad, rate; /* gradient, learning rate */
	uint8_t exp_avg, exp_avg_sq; /* Adam's moments, and those of similar optimizers */
	uint8_t state; /* further state that it keeps for a parameter, and its name there */
	char state_name[16];
};

/* NULL: that kernel updates nothing that is known. */
const struct update_kernel *update_kernel_of(const char *name);

/*
 * Lengths of the parts before the longest common end of both names, at the beginning of a component: "opt.",
 * "opt.moment1." for opt.conv.weight and opt.moment1.conv.weight. False: there is no common end, or the state's name
 * has nothing before it.
 */
bool update_name_fronts(
	const char *parameter, const char *state, size_t *front, size_t *state_front);

#endif
