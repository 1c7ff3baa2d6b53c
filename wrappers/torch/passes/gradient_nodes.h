/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients of tensors seen in a forward pass. The autograd node that made the tensor is remembered; when the engine reaches
 * it, its inputs are the complete gradients of its outputs. Nothing is added to the graph.
 */
#ifndef PROBE_WRAPPERS_TORCH_GRADIENT_NODES_H
#define PROBE_WRAPPERS_TORCH_GRADIENT_NODES_H

#include <stdbool.h>
#include <stdint.h>

struct api;
struct buffer;
struct remembered;
struct torch_train_event;

/*
 * Receives the gradient on the thread that has it, with some KiB of stack; the buffer is not
 * valid afterwards.
 */
typedef void arrived_fn(const struct remembered *r, const struct buffer *b);

/* Identifies the owner of the gradient. */
struct remembered {
	arrived_fn *arrived;
	const char *module; /* lives as long as the process */
	struct api *row; /* row for its record */
	uint64_t call; /* number of the module's call */
	uint32_t step, micro_step;
	uint16_t vpp_stage;
	uint32_t range; /* torch_open_range(); 0: none */
	bool output;
	uint8_t index; /* index among several tensors; UINT8_MAX: the only one */
};

/*
 * Registers for the complete gradient that the node of tensor impl receives. With r->range, the
 * nodes that a module has made: only for what the node receives from other nodes, which is the
 * gradient of the module's output.
 */
void torch_register_gradient_of_output(const void *impl, const struct remembered *r);

/*
 * Registers for the gradient of a module's input, tensor impl: the part of its gradient that the
 * nodes of r->range return. For both functions: if several nodes of the range and nodes outside it
 * contribute, all contributions are included.
 */
void torch_register_gradient_of_input(const void *impl, const struct remembered *r);

/*
 * Defines a range: the nodes made from number `from` on, up to the one before `to`; to 0: not
 * known yet.
 */
uint32_t torch_open_range(uint64_t from);
void torch_close_range(uint32_t range, uint64_t to);

/* True if the node that made tensor impl is in the range. */
bool torch_is_made_since(const void *impl, uint32_t range);

/*
 * Engine::evaluate_function() begins (with the node, and the InputBuffer with its gradients); or
 * ends. Returns a value to be passed at the end, because a node may run another pass.
 */
uint64_t torch_handle_node_begin(const void *node, const void *inputs);
void torch_handle_node_end(uint64_t before);

/* The running node returns `gradients` (vector<Tensor>) along its `edges` (vector<Edge>). */
void torch_handle_edges(const void *edges, const void *gradients);

void torch_remove_old_gradients(const struct torch_train_event *e);
void torch_gradients_forked(void);

#endif
