/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that update one parameter per call, and the roles of their inputs. */
#ifndef PROBE_WRAPPERS_MINDSPORE_UPDATE_KERNEL_H
#define PROBE_WRAPPERS_MINDSPORE_UPDATE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Indices of inputs. The parameter is input 0, so 0 means that there is no such input. */
struct update_kernel {
	char name[24];
	/* this many of the first inputs are also results, whatever the outputs are */
	uint8_t written;
	uint8_t grad, rate; /* gradient, learning rate */
	uint8_t exp_avg, exp_avg_sq; /* Adam's moments, and similar ones of other optimizers */
	uint8_t state; /* other state for a parameter, and its name in the optimizer */
	char state_name[16];
};

/* Returns NULL if no kernel with this name is known to update a parameter. */
const struct update_kernel *find_update_kernel(const char *name);

/*
 * Finds the longest common end of both names that begins at a component, and the lengths of the
 * parts before it: "opt." and "opt.moment1." for opt.conv.weight and opt.moment1.conv.weight.
 * Returns false if there is no common end, or nothing before it in the state's name.
 */
bool find_name_prefixes(
	const char *parameter, const char *state, size_t *front, size_t *state_front);

#endif
