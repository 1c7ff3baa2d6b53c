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
#define LAYOUT_END UINT16_MAX /* end of a path shorter than the array */

/* The path from an object to a member: at each offset except the last, a pointer is followed. */
struct layout_path {
	uint16_t at[LAYOUT_STEPS];
};

struct kernel_layout {
	char version[12];
	/* sizes of KernelTensor, DeviceAddress, Primitive */
	uint16_t tensor_bytes, address_bytes, primitive_bytes;
	/* KernelTensor's void *, size_t, int, vector<int64_t> */
	struct layout_path data, bytes, dtype, shape;
	/* in KernelTensor: shared_ptr<TensorStorageInfo>; empty: contiguous */
	struct layout_path view;
	/* in TensorStorageInfo: two vector<int64_t>, size_t in elements */
	uint16_t view_shape, view_strides, view_offset;
	uint16_t primitive_name, mod_name; /* std::string of Primitive, of KernelMod */
	uint16_t executor; /* in DeviceContext: KernelExecutor * */
	uint16_t node_name; /* in CNode: std::string, path of the node in the graph; may be empty */
	/*
	 * Slots in KernelExecutor's vtable: of LaunchKernel, and of functions by which this slot
	 * is verified (ms_find_launch_slot()).
	 */
	uint8_t launch, known[4];
	uint8_t type[DT_COUNT]; /* TypeId of each enum dtype; 0: none */
	/*
	 * in tensor::Tensor, the program's tensor: its size; vector<int64_t>, int, DeviceAddress
	 * *, ParamInfo *
	 */
	uint16_t host_bytes, host_shape, host_dtype, host_address, host_info;
	uint16_t info_name; /* in ParamInfo: std::string */
	/* in VectorRef: vector<BaseRef>; of BaseRef: its size, and Base * */
	uint16_t args, arg_bytes, arg_object;
	uint16_t py_tensor; /* in a Python object of class Tensor: Tensor * */
	/* if py_tensor is NULL: StubNode *, and in it a Value *, which is set later */
	uint16_t py_stub, stub_value;
};

/*
 * Returns the layout of the loaded MindSpore, or NULL if it is not known, or was found to be
 * wrong (reported in meta.json).
 */
const struct kernel_layout *ms_get_layout(void);

/*
 * Describes a KernelTensor in *v. strides: space for CXX_DIMS_MAX, used if the tensor has no
 * strides, valid as long as *v. Returns false if its shape is not known.
 */
bool ms_read_tensor_buffer(const void *tensor, struct buffer *v, int64_t *strides);
bool ms_read_tensor(
	const struct kernel_layout *l, const void *tensor, struct buffer *v, int64_t *strides);

/* A tensor::Tensor in its current state. */
#define MS_TENSOR_CLASS "N9mindspore6tensor6TensorE" /* for cxx_object_is_of() */
struct ms_tensor {
	/* its DeviceAddress; for a kernel's argument: ms_get_kernel_address() */
	const void *address;
	const char *name; /* name of a parameter; NULL: not a parameter */
	struct buffer v; /* .nostats if its memory does not exist yet */
};
/*
 * Reads a tensor::Tensor. strides: as in ms_read_tensor_buffer(). Returns false if the tensor, or this
 * release's layout, is unknown.
 */
bool ms_read_host_tensor(const void *tensor, struct ms_tensor *t, int64_t *strides);

/* Returns the DeviceAddress of a KernelTensor. */
const void *ms_get_kernel_address(const struct kernel_layout *l, const void *tensor);

/*
 * True if tensor::Tensor has the layout of the headers. Checked once the rest of the layout was
 * found to hold.
 */
bool ms_is_host_layout_valid(void);

/* Returns the address of the member at the end of path w; NULL if a pointer on the path is NULL. */
const void *ms_get_member(const void *object, const struct layout_path *w);

/*
 * Returns the slot of LaunchKernel in the executor's vtable; -1 if the vtable does not match this release.
 */
int ms_find_launch_slot(const void *executor);

/* Return names, or NULL if there is no valid one. */
const char *ms_read_primitive_name(const struct kernel_layout *l, const void *primitive);
const char *ms_read_node_name(const struct kernel_layout *l, const void *node, const char *kernel);
const char *ms_read_kernel_name(const struct kernel_layout *l, const void *mod);

#endif
