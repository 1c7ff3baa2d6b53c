/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an optimizer's step can be withheld by removing its gradients. For withhold.c; the GIL is held. */
#ifndef PROBE_WRAPPERS_TORCH_STEP_GUARD_H
#define PROBE_WRAPPERS_TORCH_STEP_GUARD_H

#include <stdbool.h>

struct step_look {
	const void *self; /* the optimizer; valid until the GIL is released */
	const char *why; /* the reason why it cannot be withheld; NULL: it can */
	bool left_out; /* the gradient scaler skips it itself: an Inf was found */
};

/*
 * Before a step: the program's optimizers whose steps can be withheld, as far as visible. Returns how many were written to
 * `found`; 0: there are none, one of them cannot, or it is not known.
 */
unsigned find_optimizers_ahead(const void **found, unsigned max);

/* Examines the step that the calling thread has just entered. */
struct step_look step_guard_look(void);

#endif
