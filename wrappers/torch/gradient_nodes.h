/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of tensors that a forward pass has shown: the node of autograd that made the tensor is remembered, and when the
 * engine comes to it, its inputs are the complete gradients of what it made. Nothing is added to the graph.
 */
#ifndef PROBE_WRAPPERS_TORCH_GRADIENT_NODES_H
#define PROBE_WRAPPERS_TORCH_GRADIENT_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct torch_train_event;

/* Whose gradient it is: kind actv_grad. */
struct remembered {
	const char *module; /* lives as long as the process */
	uint32_t step, micro_step;
	uint16_t vpp_stage;
	bool output;
	uint8_t index; /* of several; UINT8_MAX: it is the only one */
};

/* The row's name: `module.input`, `module.output.1`. */
void torch_activation_name(const struct remembered *r, char *out, unsigned cap);

void torch_remember_gradient(const void *impl, const struct remembered *r);

/* Engine::evaluate_function() begins: the node, and the InputBuffer with its gradients. */
void torch_gradients_pass(const void *node, const void *inputs);

void torch_gradients_forget(const struct torch_train_event *e);
void torch_gradients_forked(void);

#endif
