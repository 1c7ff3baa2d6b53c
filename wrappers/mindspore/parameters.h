/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of a training with MindSpore, by name: in PYNATIVE mode those whose gradients are asked for; in a graph those
 * among its arguments of which an optimizer keeps something. What they are called MindSpore's own tensors say.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_PARAMETERS_H
#define PROBE_WRAPPERS_MINDSPORE_PARAMETERS_H

#include "training/params/param.h"

/*
 * Makes them known, if one of them is not: n objects of class tensor::Tensor, which others of the program keep. Any thread,
 * without a lock of ours; on a stack with some room.
 */
void ms_parameters_are(const void *const *tensor, uint32_t n, const char *why);

/*
 * The parameter that lies there, of which a kernel of a graph is about to make another value; *all is the table that it is in.
 * NULL: it has no name.
 */
const struct train_param *ms_parameter_at(const void *data, const struct train_params **all);

void ms_parameters_forked(void);

#endif
