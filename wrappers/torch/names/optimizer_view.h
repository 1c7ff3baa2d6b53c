/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An optimizer of PyTorch when its step begins: parameter groups with their numbers (lr, betas,
 * eps ...), and the state of each parameter. Read under the GIL by names*.c at the beginning of a
 * step, on its thread, if names, kinds or scalars are wanted. Valid until the step has ended, on
 * this thread only. Holds no references: the tensors are those that the optimizer holds.
 */
#ifndef PROBE_WRAPPERS_TORCH_OPTIMIZER_VIEW_H
#define PROBE_WRAPPERS_TORCH_OPTIMIZER_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#define OPTIMIZER_KEY_MAX 32 /* bytes of a key, with its NUL; longer keys are skipped */
#define OPTIMIZER_NUMBERS 32 /* maximum per group */
#define OPTIMIZER_STATES 12 /* maximum per parameter */

/*
 * A number of a parameter group: a float, an int, a bool, or a one-element tensor on the host. Each element of a tuple has its own
 * key: betas.0, betas.1.
 */
struct optimizer_number {
	char key[OPTIMIZER_KEY_MAX];
	double value;
};

/* The optimizer's state for one parameter under one key. */
struct optimizer_state {
	const char *
		key; /* exp_avg, exp_avg_sq, step, momentum_buffer ... lives as long as the process */
	const void *impl; /* TensorImpl; NULL: the state is the number `value` */
	double value; /* number, also that in a one-element tensor on the host; NAN: not known */
};

struct optimizer_param {
	const void *impl; /* TensorImpl of the parameter, or of its local part */
	/* TensorImpl of the parameter in the optimizer, if that is a wrapper (DTensor) */
	const void *outer;
	/* for a wrapper: TensorImpl of the local part of its gradient; NULL: none */
	const void *grad;
	uint32_t id; /* number in struct train_param; 0: none */
	uint16_t group;
	uint16_t nstate;
	const struct optimizer_state *state;
};

struct optimizer_group {
	uint32_t first, nparam; /* the group's parameters in .param */
	uint32_t nnumber;
	const struct optimizer_number *number;
};

struct torch_optimizer_view {
	uint16_t number; /* number of the optimizer, in the order of first steps */
	/* nesting of optimizers that step inside another one: 1 for the inner one */
	uint16_t nspan;
	char type[64]; /* name of the class */
	bool partitions; /* its parameters are partitions of the model's (ZeRO) */
	uint32_t ngroup, nparam;
	const struct optimizer_group *group;
	const struct optimizer_param *param;
};

/*
 * Returns the innermost optimizer whose step is in progress on this thread. NULL: none, not
 * found, or not needed. Valid between optimizer_begin and optimizer_end of the observers
 * (train_observers.h).
 */
const struct torch_optimizer_view *torch_get_optimizer(void);

/*
 * Reads the optimizer again after its step, with the new values. Valid as long as
 * torch_get_optimizer().
 */
const struct torch_optimizer_view *torch_read_optimizer_again(void);

/* Returns the number `key` of a group; NAN: none. */
double torch_get_group_number(const struct optimizer_group *g, const char *key);

/* Returns the optimizer's state `key` for p; NULL: none (yet). */
const struct optimizer_state *torch_get_state(const struct optimizer_param *p, const char *key);

#endif
