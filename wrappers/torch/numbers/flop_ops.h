/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point operations of PyTorch's operators (training/steps/flops.h). Matrix products, convolutions and
 * attention are watched, and not recorded. In the steps between those that are counted only one operator is watched,
 * and the stubs of the others jump straight to PyTorch. With nested operators only the outermost counts: autocast,
 * autograd and kernels call further ones.
 */
#ifndef PROBE_WRAPPERS_TORCH_FLOP_OPS_H
#define PROBE_WRAPPERS_TORCH_FLOP_OPS_H

#include <stdbool.h>

struct call;
struct torch_function;

/* True if that operator (name of its C++ struct: addmm_out) is counted. False if counting is not requested. */
bool torch_is_flop_op(const char *name);

/* Its row: `call` or `redispatch`; watched: it is entered for nothing else, and may be left alone. */
void torch_watch_flop_op(struct torch_function *r, const char *name, bool watched);

/* Any operator that is counted is called, or has returned. */
void torch_flop_enter(const struct call *c);
void torch_flop_leave(const struct call *c);

/* A library with kernels of its own for these is loaded, or code that a graph was compiled to. */
void torch_flops_unseen(const char *library);

/* A Python extension of that name is loaded from that file: is it such a library? */
void torch_flops_see_module(const char *module, const char *file);

#endif
