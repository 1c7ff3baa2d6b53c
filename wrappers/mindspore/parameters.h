/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training with MindSpore, by name: in PYNATIVE mode those whose gradients are requested; in a
 * graph those that its kernels update. Their names come from MindSpore's own tensors.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_PARAMETERS_H
#define PROBE_WRAPPERS_MINDSPORE_PARAMETERS_H

#include "training/params/param.h"

/*
 * Registers n parameters, objects of class tensor::Tensor that the program keeps alive, if one of
 * them is not known yet. Any thread, without a lock of libprobe; needs some KiB of stack.
 */
void ms_register_parameters(const void *const *tensor, uint32_t n, const char *why);

/* Arguments of a kernel that updates a parameter: addresses of data. */
#define MS_STATES_MAX 3
struct ms_updated {
	const void *parameter;
	const void *state[MS_STATES_MAX]; /* optimizer state of the parameter */
	unsigned nstate;
};

/*
 * Returns the parameter that a kernel of a graph updates; *all is the table that contains it.
 * Returns NULL if it has no name, or none yet: if the other parameters are not known, it is named
 * when the graph has ended.
 */
const struct train_param *ms_parameter_updated(
	const struct ms_updated *u, const struct train_params **all);

/*
 * Copies the name of the argument of a running graph whose memory is at `data`. Returns false if it
 * is not known. Must be called from a kernel of such a graph.
 */
bool ms_copy_argument_name(const void *data, char *name, size_t size);

/* A graph is about to end, on the thread that ran it, while its arguments still exist. */
void ms_register_graph_parameters(void);

void ms_parameters_forked(void);

#endif
