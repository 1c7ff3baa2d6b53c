/* SPDX-License-Identifier: Apache-2.0 */
/* Detects computation that torch.compile hides: its kernels are objects that are loaded when a graph has been compiled. */
#include <stdatomic.h>
#include <string.h>

#include "base/thread.h"
#include "life/life.h"
#include "session/state.h"
#include "training/params/kind.h"
#include "wrappers/torch/numbers/flop_ops.h"
#include "wrappers/torch/tensors/torch.h"
#include "wrappers/torch/tensors/train_observers.h"

/*
 * Inductor (2.3 and later) loads its C++ as a module "kernel" from a file named by a hash, which importing by name would not
 * do; Triton's launchers are a separate module in a cache folder.
 */
static bool is_compiled(const char *module, const char *file)
{
	const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;

	if (strcmp(module, "kernel") == 0)
		return strncmp(base, "kernel", 6) != 0;
	return strcmp(module, "__triton_launcher") == 0;
}

void torch_check_compiled_module(const char *module, const char *file)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;

	if (!file || !session_configure())
		return;
	torch_check_flop_library(module, file);
	if (!is_compiled(module, file) || atomic_flag_test_and_set(&reported))
		return;
	torch_stop_flop_count("a compiled graph");
	session_record_invisible("torch.compile",
		"graphs were compiled: operators inside of them are in no row, collectives and "
		"steps are; TORCH_COMPILE_DISABLE=1 runs the same script without graphs");
}

/* ---- compiled autograd ---- */

/*
 * With compiled autograd the engine passes the whole backward pass to a graph: no node is evaluated, and the graph itself adds
 * its results to the gradients. It is detected by passes without any node. A single such pass may simply have been empty.
 */
#define EMPTY_PASSES 3

static _Atomic uint64_t nodes;
static THREAD_OWN uint64_t nodes_before;

void torch_add_node(void)
{
	atomic_fetch_add_explicit(&nodes, 1, memory_order_relaxed);
}

static bool are_nodes_wanted(void)
{
	return train_get_kinds() & (KIND_BIT(GRAD_UNREDUCED) | KIND_BIT(ACTV_GRAD));
}

static void record_nodes_before(const struct torch_train_event *e)
{
	if (e->outermost)
		own(nodes_before) = atomic_load_explicit(&nodes, memory_order_relaxed);
}

static void find_empty_pass(const struct torch_train_event *e)
{
	static _Atomic int empty;

	if (!e->outermost || !e->accumulates || !e->ok)
		return;
	if (atomic_load_explicit(&nodes, memory_order_relaxed) != own(nodes_before))
		atomic_store_explicit(&empty, 0, memory_order_relaxed);
	else if (atomic_fetch_add_explicit(&empty, 1, memory_order_relaxed) == EMPTY_PASSES - 1)
		session_record_invisible("torch.autograd",
			"backward passes run as compiled graphs (compiled autograd): kinds "
			"grad_unreduced and actv_grad have no rows for them");
}

const struct torch_train_observer compiled_observer = {
	.wanted = are_nodes_wanted,
	.backward_begin = record_nodes_before,
	.backward_end = find_empty_pass,
};
