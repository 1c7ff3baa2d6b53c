/* SPDX-License-Identifier: Apache-2.0 */
/* Where a step ends that an optimizer has marked: key step_boundary. Called without locks of train_events.c. */
#ifndef PROBE_WRAPPERS_TORCH_STEP_BOUNDARY_H
#define PROBE_WRAPPERS_TORCH_STEP_BOUNDARY_H

void torch_handle_step_mark(void); /* the step's optimizer has stepped, or was skipped */
void torch_handle_step_forward(void); /* a forward pass in training mode begins */
void torch_handle_step_backward(void); /* a backward pass of the training begins */
void torch_handle_step_optimizer(void); /* the optimizer whose steps count begins another step */
void torch_boundary_forked(void);

#endif
