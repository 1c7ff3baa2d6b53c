/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets of members in MindSpore's objects. They differ between releases, and the libraries do not contain them. The known
 * releases are in kernel_layouts.def, which a script makes from the headers of their packages (tests/mindspore_layout.sh).
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_LAYOUT_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

#define LAYOUT_STEPS 3
#define LAYOUT_END UINT16_MAX /* end of a shorter path */

/* The path from an object to a member: pointers are followed at all steps except the last. */
struct layout_way {
	uint16_t at[LAYOUT_STEPS];
};

struct kernel_layout {
	char version[12];
	uint16_t tensor_bytes, address_bytes,
		primitive_bytes; /* sizes of KernelTensor, DeviceAddress, Primitive */
	struct layout_way data, bytes, dtype,
		shape; /* KernelTensor's void *, size_t, int, vector<int64_t> */
	struct layout_way view; /* also in it: shared_ptr<TensorStorageInfo>; empty: contiguous */
	uint16_t view_shape, view_strides,
		view_offset; /* in that: two vector<int64_t>, size_t in elements */
	uint16_t primitive_name, mod_name; /* std::string of Primitive, of KernelMod */
	uint16_t executor; /* in DeviceContext: KernelExecutor * */
	uint16_t node_name; /* in CNode: std::string, its place in the graph; may be empty */
	/*
	 * Indices in KernelExecutor's table: of LaunchKernel, and of functions by which this is verified (ms_launch_place()).
	 */
	uint8_t launch, known[4];
	uint8_t type[DT_COUNT]; /* TypeId of each enum dtype; 0: it has none */
	/* tensor::Tensor, the program's tensors: vector<int64_t>, int, DeviceAddress *, ParamInfo * */
	uint16_t host_bytes, host_shape, host_dtype, host_address, host_info;
	uint16_t info_name; /* std::string of ParamInfo */
	uint16_t args, arg_bytes,
		arg_object; /* vector<BaseRef> of VectorRef; of BaseRef: its size, Base * */
	uint16_t py_tensor; /* Tensor * of a Python object of class Tensor */
	uint16_t py_stub, stub_value; /* if that is NULL: StubNode *, which gets a Value * later */
};

/* The layout of the loaded MindSpore, NULL: not known, or found to be wrong (reported in meta.json). */
const struct kernel_layout *ms_layout(void);

/*
 * A KernelTensor. strides: room for CXX_DIMS_MAX, used if it has none of its own, valid as long as v is used. False:
 * its shape is not known.
 */
bool ms_tensor_buffer(const void *tensor, struct buffer *v, int64_t *strides);
bool ms_read_tensor(
	const struct kernel_layout *l, const void *tensor, struct buffer *v, int64_t *strides);

/* A tensor::Tensor in its current state. */
#define MS_TENSOR_CLASS "N9mindspore6tensor6TensorE" /* cxx_object_is_of() */
struct ms_tensor {
	/* its DeviceAddress; the same for a kernel's argument: ms_kernel_address() */
	const void *address;
	const char *name; /* for a parameter; NULL: it is not one */
	struct buffer v; /* its memory may not exist yet: .nostats */
};
/* strides: as for ms_tensor_buffer(). False: it, or this release's layout, is unknown. */
bool ms_read_host_tensor(const void *tensor, struct ms_tensor *t, int64_t *strides);

/* The DeviceAddress of a KernelTensor. */
const void *ms_kernel_address(const struct kernel_layout *l, const void *tensor);

/* True if that layout's tensor::Tensor matches its headers. Checked once the rest of the layout holds. */
bool ms_host_tensors_hold(void);

/* The member at the end of that path; NULL: a pointer on it is NULL. */
const void *ms_member(const void *object, const struct layout_way *w);

/* The index of LaunchKernel in the executor's table, -1: it is not where the release should have it. */
int ms_launch_place(const void *executor);

/* Names, NULL: there is no valid one. */
const char *ms_primitive_name(const struct kernel_layout *l, const void *primitive);
const char *ms_node_name(const struct kernel_layout *l, const void *node, const char *kernel);
const char *ms_kernel_name(const struct kernel_layout *l, const void *mod);

#endif
