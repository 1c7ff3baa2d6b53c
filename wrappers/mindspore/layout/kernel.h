/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels: MindSpore runs each operator as a kernel. All are launched by two functions, which get
 * the kernel as an argument:
 *
 *	PyBoostUtils::LaunchKernel	operators that Python calls one by one, and their gradients
 *	KernelExecutor::LaunchKernel	those of graphs, and the older operators
 *
 * Each kernel has its own row for either function, made at its first call and found by its name:
 * whether it is listed, and everything else that is decided for a function, is decided once.
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_H

#include "api/runtime_registry.h"
#include "call/call.h"
#include "call/data/view.h"
#include "entry/stubs/provider.h"
#include "wrappers/cxx/cxx_function.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/update_kernel.h"

extern const struct adapter adapter_ms_kernel;
extern const struct runtime_provider ms_kernel_provider;

/* Arguments in v[] of struct call. */
enum kernel_arg { KERNEL_INPUTS, KERNEL_OUTPUTS, KERNEL_NODE, KERNEL_ARGS };

/* a std::vector<KernelTensor *> */
struct kernel_tensors {
	const void *const *begin, *const *end;
};

/* Describes tensor i of a kernel. Returns false if its memory cannot be read. */
struct ms_tensor_view {
	struct buffer v;
	int64_t strides[CXX_DIMS_MAX];
};
bool ms_read_kernel_tensor(const struct kernel_tensors *t, unsigned i, struct ms_tensor_view *s);

struct ms_kernel {
	struct cxx_function cxx;
	struct made_row made;
	struct ms_kernel *next;
	const struct update_kernel *update; /* NULL: the kernel does not update a parameter */
	bool counts_steps; /* AssignAdd: used by optimizers to count their steps */
	bool is_softmax;
	bool chooses; /* its outputs contain indices of the largest elements */
	bool copies; /* a cast or a transposed copy */
	bool takes_root; /* Sqrt: used for the norm over all gradients */
	char name[];
};

enum kernel_way { KERNEL_OPERATOR, KERNEL_EXECUTED };

/*
 * Returns the row of kernel `name`, whose calls are passed on to `real`. Returns NULL if there is
 * no memory, or there are too many rows (reported). Keeps errno; call with thread_state.busy.
 */
struct ms_kernel *ms_find_or_add_kernel_row(enum kernel_way way, const char *name, void *real);

/* ---- which kernels are listed (kernel_list.c) ---- */

/* True if a kernel may be listed. False: no kernel can be in the list in use, or in a later one. */
bool ms_kernels_listed(void);
bool ms_kernel_listed(const char *name);

#endif
