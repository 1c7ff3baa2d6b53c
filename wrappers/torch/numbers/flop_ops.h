/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of PyTorch's operators (training/steps/flops.h). Matrix products,
 * convolutions and attention are observed, and not recorded. In steps that are not counted only
 * one operator is observed, and the stubs of the others jump straight to PyTorch. Of nested
 * operators only the outermost counts: autocast, autograd and kernels call other operators.
 */
#ifndef PROBE_WRAPPERS_TORCH_FLOP_OPS_H
#define PROBE_WRAPPERS_TORCH_FLOP_OPS_H

#include <stdbool.h>

struct call;
struct torch_function;

/*
 * True if operator `name` (of its C++ struct: addmm_out) is counted. False if counting is not
 * requested.
 */
bool torch_is_flop_op(const char *name);

/*
 * Sets up row r of such an operator, `call` or `redispatch`. watched: it has no other purpose,
 * and may be bypassed.
 */
void torch_register_flop_op(struct torch_function *r, const char *name, bool watched);

/* An operator that is counted is entered, or has returned. */
void torch_start_flop_op(const struct call *c);
void torch_record_flop_op(const struct call *c);

/*
 * A library with kernels of its own for these operators was loaded, or code compiled from a
 * graph.
 */
void torch_stop_flop_count(const char *library);

/* Python extension `module` is loaded from `file`: notes it if it is such a library. */
void torch_check_flop_library(const char *module, const char *file);

#endif
