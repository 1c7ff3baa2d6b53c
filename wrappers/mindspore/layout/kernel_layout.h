/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where members of MindSpore's objects lie: different in each release, and nothing in its libraries says it. Known are the
 * releases of kernel_layouts.def, which a script makes from the headers of their packages (tests/mindspore_layout.sh).
 */
#ifndef PROBE_WRAPPERS_MINDSPORE_KERNEL_LAYOUT_H
#define PROBE_WRAPPERS_MINDSPORE_KERNEL_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "call/data/view.h"

#define LAYOUT_STEPS 3
#define LAYOUT_END UINT16_MAX /* of a way that is shorter */

/* From the object to a member: pointers are followed at all but the last. */
struct layout_way {
	uint16_t at[LAYOUT_STEPS];
};

struct kernel_layout {
	char version[12];
	uint16_t tensor_bytes, address_bytes,
		primitive_bytes; /* sizes of KernelTensor, DeviceAddress, Primitive */
	struct layout_way data, bytes, dtype,
		shape; /* of KernelTensor: void *, size_t, int, vector<int64_t> */
	struct layout_way view; /* of it, too: shared_ptr<TensorStorageInfo>; empty: contiguous */
	uint16_t view_shape, view_strides,
		view_offset; /* of that: two vector<int64_t>, size_t in elements */
	uint16_t primitive_name, mod_name; /* std::string of Primitive, of KernelMod */
	uint16_t executor; /* of DeviceContext: KernelExecutor * */
	uint16_t node_name; /* of CNode: std::string, its place in the graph; may be empty */
	/* Places in KernelExecutor's table: of LaunchKernel, and of functions that show whether that is so (ms_launch_place()). */
	uint8_t launch, known[4];
	uint8_t type[DT_COUNT]; /* TypeId of each enum dtype; 0: it has none */
	/* tensor::Tensor, what a program has: vector<int64_t>, int, DeviceAddress *, ParamInfo * */
	uint16_t host_bytes, host_shape, host_dtype, host_address, host_info;
	uint16_t info_name; /* std::string of ParamInfo */
	uint16_t args, arg_bytes,
		arg_object; /* vector<BaseRef> of VectorRef; of BaseRef: its size, Base * */
	uint16_t py_tensor; /* Tensor * of a Python object of class Tensor */
	uint16_t py_stub,
		stub_value; /* where that is NULL: StubNode *, which gets a Value * later */
};

/* That of the MindSpore that is loaded, NULL: not known, or it was found not to hold. Said in meta.json where it is not. */
const struct kernel_layout *ms_layout(void);

/*
 * A KernelTensor. strides: room for CXX_DIMS_MAX, for those of one that has none of its own, as long as v is used. False:
 * nothing is known of its shape.
 */
bool ms_tensor_buffer(const void *tensor, struct buffer *v, int64_t *strides);
bool ms_read_tensor(
	const struct kernel_layout *l, const void *tensor, struct buffer *v, int64_t *strides);

/* A tensor::Tensor as it stands now. */
#define MS_TENSOR_CLASS "N9mindspore6tensor6TensorE" /* cxx_object_is_of() */
struct ms_tensor {
	const void *
		address; /* its DeviceAddress; the same of what a kernel is given: ms_kernel_address() */
	const char *name; /* of a parameter; NULL: it is none */
	struct buffer v; /* its memory may not be there yet: .nostats */
};
/* strides: as ms_tensor_buffer(). False: nothing is known of it, or this release's are not. */
bool ms_read_host_tensor(const void *tensor, struct ms_tensor *t, int64_t *strides);

/* The DeviceAddress of a KernelTensor. */
const void *ms_kernel_address(const struct kernel_layout *l, const void *tensor);

/* Is that layout's tensor::Tensor as its headers say? Asked once the rest of it holds. */
bool ms_host_tensors_hold(void);

/* The member at the end of that way; NULL: a pointer on it is. */
const void *ms_member(const void *object, const struct layout_way *w);

/* Where the executor's table has LaunchKernel, -1: not where the release should have it. */
int ms_launch_place(const void *executor);

/* Names, NULL: there is none that could be one. */
const char *ms_primitive_name(const struct kernel_layout *l, const void *primitive);
const char *ms_node_name(const struct kernel_layout *l, const void *node, const char *kernel);
const char *ms_kernel_name(const struct kernel_layout *l, const void *mod);

#endif
