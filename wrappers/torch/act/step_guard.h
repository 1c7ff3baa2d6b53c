/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whether an optimizer's step can be withheld by removing its gradients. For withhold.c; the GIL is held. */
#ifndef PROBE_WRAPPERS_TORCH_STEP_GUARD_H
#define PROBE_WRAPPERS_TORCH_STEP_GUARD_H

#include <stdbool.h>

struct step_look {
	const void *self; /* the optimizer; good until the GIL is given back */
	const char *why; /* it cannot, and why; NULL: it can */
	bool left_out; /* the gradient scaler leaves it out itself: an Inf was found */
};

/*
 * Before a step: the program's optimizers whose steps can be withheld, as far as that can be seen. Returns how many were
 * written to `found`; 0: there are none, one of them cannot, or it is not known.
 */
unsigned find_optimizers_ahead(const void **found, unsigned max);

/* Examines the step that the calling thread has just entered. */
struct step_look step_guard_look(void);

#endif
