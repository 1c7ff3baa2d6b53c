/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of preload/api/layout_fact.h: X(id, name, versions, how it is verified, what is off if it does not hold). To add
 * one, add a line, and a call of session_record_layout_fact() where it is verified.
 */
#ifndef PROBE_WRAPPERS_LAYOUT_FACTS_H
#define PROBE_WRAPPERS_LAYOUT_FACTS_H

#include "api/layout_fact.h"

/* clang-format off */
#define LAYOUT_FACTS(X)                                                                                                        \
	X(LAYOUT_TORCH_TENSOR, "torch.tensor", "PyTorch 1.13, 2.13, 2.15",                                                    \
		"the first plain tensor: consistent in itself, and as aoti_torch_* or DLPack describe it",                     \
		"tensors of PyTorch: calls have no rows of tensors")                                                           \
	X(LAYOUT_TORCH_GROUP, "torch.group", "PyTorch 1.13, 2.13, 2.15",                                                      \
		"the first process group: its rank lies below its size, and its own list of ranks is as long",                 \
		"communicators of c10d calls")                                                                                 \
	X(LAYOUT_TORCH_OPTIONS, "torch.options", "PyTorch 1.13, 2.13, 2.15",                                                  \
		"the root in the options of a rooted collective is a rank of the group",                                       \
		"root, and which ranks of rooted collectives have inputs and outputs")                                         \
	X(LAYOUT_TORCH_OPERATORS, "torch.operators", "PyTorch 1.13, 2.13, 2.15",                                              \
		"parameters by the mangled name, the result by the schema in libtorch, both of the same operator",             \
		"the operator entries that `probe check` names as without rows")                                               \
	X(LAYOUT_TORCH_WORK, "torch.work", "PyTorch 2.13, 2.15",                                                              \
		"the slot of c10d::Work's table of virtual functions that has the address of c10d::Work::wait",                \
		"outputs of Gloo's reduce_scatter (flag untracked)")                                                           \
	X(LAYOUT_TORCH_NODE, "torch.node", "PyTorch 1.13, 2.13, 2.15",                                                        \
		"nodes of leaves all have the largest number there is, in the same place",                                     \
		"numbers of autograd's nodes: gradients are not paired with operators")                                        \
	X(LAYOUT_TORCH_GRAD, "torch.grad", "PyTorch 2.13",                                                              \
		"the reference that c10::TensorImpl::grad() gives back for the first parameter lies in its AutogradMeta",       \
		"kinds of gradients")                                                                                          \
	X(LAYOUT_TORCH_LEAF, "torch.leaf", "PyTorch 2.13",                                                              \
		"the node that is made for a leaf has that leaf's TensorImpl in one place, the same in all nodes",             \
		"kind grad_unreduced")                                                                                         \
	X(LAYOUT_TORCH_MODULE, "torch.module", "CPython 3.11 with a GIL",                                               \
		"a call of a new torch.nn.Module, before any of the program's is watched, arrives with its self",              \
		"actv, actv_grad, phase evaluation, step_boundary: iteration")                                                 \
	X(LAYOUT_TORCH_GRAPH, "torch.graph", "PyTorch 2.13",                                                            \
		"the first tensor that was computed: at::TensorBase::grad_fn() gives the node that lies there",                \
		"actv_grad")                                                                                                   \
	X(LAYOUT_TORCH_BUCKET, "torch.bucket", "PyTorch 2.13",                                                           \
		"the first bucket of DDP: offsets and lengths fill its buffer, each length is its parameter's",                \
		"names of what DDP's buckets hold")                                                                            \
	X(LAYOUT_MS_COLLECTIVES, "mindspore.collectives", "MindSpore 2.10",                                              \
		"type information of the instances names CollectiveCommunicationLib, whose exported table has the places",    \
		"collectives of MindSpore")                                                                                    \
	X(LAYOUT_MS_KERNELS, "mindspore.kernels", "MindSpore 2.7.1 to 2.10",                                                 \
		"a tensor and an operator that MindSpore makes for it have their type, shape, size, address and name there",  \
		"kernels of MindSpore, and steps by its optimizers")                                                           \
	X(LAYOUT_MS_EXECUTOR, "mindspore.executor", "MindSpore 2.7.1 to 2.10",                                                 \
		"type information says KernelExecutor; named functions lie on both sides of the hidden one",                  \
		"kernels of graphs, and steps by MindSpore's optimizers")                                                      \
	X(LAYOUT_MS_TENSORS, "mindspore.tensors", "MindSpore 2.7.1 to 2.10",                                                  \
		"a tensor that MindSpore makes has its type, shape and address there; its functions find names and arguments", \
		"names, kinds and numbers of a training with MindSpore")                                                      \
	X(LAYOUT_PYTHON_OBJECTS, "python.objects", "CPython 3.11, 3.14, 3.15 with a GIL",                                                  \
		"variables of the first frames: names are a tuple as long as the code says, values are objects",              \
		"names of parameters")                                                                                         \
	X(LAYOUT_PYTHON_FRAMES, "python.frames", "CPython 3.8 to 3.15 with a GIL",                                             \
		"a walk of a thread's frames, compared with what the interpreter says of the innermost one",                   \
		"Python stacks and markers of Python functions")                                                               \
	X(LAYOUT_CUDA_DRIVER, "cuda.driver", "CUDA 11.0 to 13",                                                                \
		"libcuda.so.1 exports all functions in the versions that the values of enums belong to",                       \
		"device: copy, and statistics of buffers on a GPU")                                                            \
	X(LAYOUT_GLOO_OPTIONS, "gloo.options", "gloo 0.5.0 (2019 to 2022)",                                                    \
		"a context's rank lies below its size, the first buffer holds a whole number of elements",                     \
		"calls of gloo")                                                                                               \
	X(LAYOUT_MPI_HANDLES, "mpi.handles", "Open MPI 3 to 5, the MPICH ABI, the MPI ABI",                                    \
		"MPI answers for MPI_COMM_WORLD: a rank below a size (and `make check-specs` by the headers)",                 \
		"communicators of MPI calls")                                                                                  \
	X(LAYOUT_MPI_STATUS, "mpi.status", "Open MPI 3 to 5, the MPICH ABI, the MPI ABI",                                      \
		"a receive from a known rank with a known tag: its status says both",                                          \
		"peer and tag of receives with wildcards")                                                                     \
	X(LAYOUT_MPI_REQUESTS, "mpi.requests", "the MPICH ABI (handles of the built-in kind), Open MPI",                       \
		"PMPI_Request_get_status of the first such request says that it is complete",                                  \
		"knowing complete requests by their handle: MPI is asked about each")
/* clang-format on */

enum {
#define ROW(id, name, versions, verified_by, off) id,
	LAYOUT_FACTS(ROW)
#undef ROW
		LAYOUT_FACT_COUNT
};
_Static_assert(LAYOUT_FACT_COUNT <= LAYOUT_FACTS_MAX, "");

#endif
