/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an optimizer's step can be withheld by removing its gradients. For withhold.c; the GIL is held. */
#ifndef PROBE_WRAPPERS_TORCH_STEP_GUARD_H
#define PROBE_WRAPPERS_TORCH_STEP_GUARD_H

#include <stdbool.h>

struct step_check {
	const void *self; /* the optimizer's Python object; valid until the GIL is released */
	const char *why; /* the reason why its step cannot be withheld; NULL: it can */
	bool scaler_skips_step; /* the gradient scaler skips the step itself, because an Inf was found */
};

/*
 * Before a step: finds the program's optimizers, as far as visible. Writes those whose steps can
 * be withheld to `found` and returns their number. Returns 0 if there are none, the step of one
 * of them cannot be withheld, or that is not known.
 */
unsigned find_optimizers_ahead(const void **found, unsigned max);

/* Examines the step that the calling thread has just entered. */
struct step_check check_step_guard(void);

#endif
