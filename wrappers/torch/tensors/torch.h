/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's adapter. Its functions have C++ names, so all of them are entered by stubs and libffi: registry.c decides which
 * names of a libtorch are wanted and makes their rows; group.c reads the calls of process groups, work.c tracks their
 * completion, train_events.c observes optimizers and backward passes, tensor.c reads tensors.
 *
 *	c10d::ProcessGroup*::<method>     collectives and messages        adapter_c10d
 *	enqueue, finish, wait of a Work   their completion                adapter_torch, observed only
 *	autograd, profiler marks          steps and phases                adapter_torch, observed only
 *	at::_ops::<operator>::*           operators, if they are listed   adapter_aten
 *	torch::autograd::generated::*     their nodes (autograd_node.c)   adapter_node
 */
#ifndef PROBE_WRAPPERS_TORCH_TORCH_H
#define PROBE_WRAPPERS_TORCH_TORCH_H

#include "call/call.h"
#include "entry/stubs/provider.h"
#include "wrappers/cxx/cxx_function.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/torch/tensors/optype.h"
#include "wrappers/torch/tensors/tensor.h"

extern const struct adapter adapter_c10d, adapter_torch, adapter_aten, adapter_node;
extern const struct runtime_provider torch_provider;

/* Writes the version of PyTorch to meta.json, at the first call of a process. */
void torch_record_version(void);

/* Writes the seed of PyTorch's generator to meta.json, at the first step of an optimizer. */
void torch_record_seeds(void);

/* True if the loaded PyTorch is 1.13. False as long as none is loaded. */
bool torch_is_1_13(void);

/*
 * To be called when Python extension `module` is being loaded from `file`. If torch.compile made
 * it, this is noted in meta.json: its operators do not pass through libtorch.
 */
void torch_check_compiled_module(const char *module, const char *file);

/*
 * The engine has reached a node, or has added a gradient to its leaf: backward passes are
 * visible.
 */
void torch_add_node(void);

/* ---- process groups ---- */

/* Where the tensors of a method are, by number of the argument; `this` is number 0. */
enum torch_form {
	FORM_NONE,
	FORM_LIST, /* vector<Tensor>& at 1, in place */
	FORM_OUT_IN, /* Tensor& out at 1, in at 2 */
	FORM_LISTS, /* vector<Tensor>& out at 1, in at 2 */
	FORM_GATHER, /* vector<vector<Tensor>>& out at 1, vector<Tensor>& in at 2 */
	FORM_SCATTER, /* vector<Tensor>& out at 1, vector<vector<Tensor>>& in at 2 */
	/* no tensors; the last argument is a bool, and no Work is returned: complete at return */
	FORM_BLOCKS,
	FORM_SEND, /* vector<Tensor>& at 1, peer at 2, tag at 3 */
	FORM_RECV,
	FORM_RECV_ANY, /* vector<Tensor>& at 1, tag at 2 */
};

struct torch_method {
	char name[40]; /* name of the C++ function */
	/* functions of torch.distributed that call this method, separated by blanks */
	char list[64];
	char kind[20]; /* op of a kind in configs/apis */
	uint8_t form; /* enum torch_form */
	uint8_t nargs; /* including `this` */
	uint8_t options; /* argument with the options, 0: none */
	int8_t redop, root; /* offset in the options; -1: none */
};

/* A row with its data for this adapter. */
struct torch_function {
	struct cxx_function cxx;
	const struct torch_method *method; /* for adapter_c10d */
	uint8_t backend; /* enum torch_backend */
	/*
	 * The returned Work is not the queued one: when the queued one completes, outputs are not
	 * valid yet.
	 */
	_Atomic bool indirect;
	uint8_t scope; /* adapter_torch: enum torch_scope */
	uint8_t scalar_op; /* its role for the training's numbers (scalar_ops.c); 0: none */
	uint8_t attention_op; /* ... for kinds of attention (attention_ops.c); 0: none */
	bool optimizer_op; /* one of those that count an optimizer's steps (optimizer_state.c) */
	uint8_t flop_op; /* its floating-point operations are counted (flop_ops.c); 0: no */
	struct op_type op; /* adapter_aten */
	char op_name[136]; /* of the schema */
};

static inline const struct torch_function *torch_get_function(const struct call *c)
{
	return (const struct torch_function *)c->api;
}

enum torch_backend { BACKEND_OTHER, BACKEND_GLOO };

enum torch_scope {
	SCOPE_NONE,
	SCOPE_GLOO_ENQUEUE,
	SCOPE_GLOO_FINISH,
	SCOPE_GLOO_FAILED,
	SCOPE_WAIT, /* a thread waits for a message */
	SCOPE_COMM_WAIT, /* a thread waits for any operation: only the time is used */
	SCOPE_REDUCER_PREPARED, /* DDP's reducer awaits the gradients of a backward pass */
	SCOPE_REDUCER_GRADIENT, /* the gradient of a parameter reaches DDP's reducer */
	SCOPE_REDUCER_FINISHED, /* DDP's reducer waits for all buckets and copies them */
	SCOPE_BACKWARD,
	/* a backward pass runs on a thread: that of a device, or one for a nested pass */
	SCOPE_ENGINE,
	SCOPE_RECORD_BEGIN,
	SCOPE_RECORD_NEW,
	SCOPE_RECORD_END,
	SCOPE_SCALE,
	SCOPE_LEAF, /* a node for a leaf of the graph is made */
	SCOPE_NODE, /* the engine reaches a node */
	SCOPE_EDGES, /* a node returns gradients */
	SCOPE_GRAD_MODE, /* gradients are enabled or disabled, as happens when a model is created */
	SCOPE_MEMORY, /* an allocator reports the memory in use */
	SCOPE_HOST_GIVEN, /* the host's allocator has given out a block */
	SCOPE_HOST_TAKEN, /* the host's allocator takes a block back */
	SCOPE_BUCKET, /* DDP gives a bucket of gradients to its communication hook */
	SCOPE_ACCUMULATE, /* a node adds a gradient to its leaf */
	SCOPE_MARKER, /* an operator that ends a step */
	SCOPE_COUNTED, /* an operator that counts the steps of an optimizer */
	SCOPE_NUMBER, /* an operator that computes a number of the training (scalars.h) */
	SCOPE_FLOPS, /* an operator whose floating-point operations are counted (flop_ops.h) */
	SCOPE_LOOK, /* an operator that shows whether a Python function runs again */
};

bool torch_read_group_call(struct call *c);

/* ---- completion ---- */

/*
 * Makes the work for a call that is being described. Returns NULL if there is no memory, or too
 * many calls are pending.
 */
struct cxx_work *torch_add_work(struct call *c);
void torch_handle_work_return(struct call *c);
void torch_handle_work_scope(struct call *c, enum torch_scope s, bool leaving);

/*
 * Makes waits for a Work visible whose class exports no symbols, before another thread has it
 * (lambda_work.c). Returns false if `work` is of another class.
 */
bool torch_watch_wait(void *work);

/* ---- operators (operators.c) ---- */

/*
 * True if `symbol` may be that of a listed operator; its exact name is known when the library has
 * been loaded.
 */
bool torch_op_wanted(const char *symbol);

/*
 * Fills in a row, except its link name. Returns false if the operator is not listed, or cannot be
 * called by libffi.
 */
bool torch_set_op_row(struct torch_function *r, const char *symbol);

/* Finds the reason why a listed operator has no row: struct runtime_provider. */
bool torch_op_refused(
	const char *symbol, char *out, size_t cap, const char **lib, const char **why);

/*
 * True if overload `overload` of operator `base` (NULL: any) is listed, under any of its Python
 * names.
 */
bool torch_op_listed(const char *base, const char *overload);

/*
 * Returns the TensorImpl of an operator's result, if this is a tensor or a reference to one; else
 * NULL.
 */
const void *torch_get_result(const struct call *c);

/* Adds a tensor to the call, unless it is undefined or its shape is not known. */
void torch_add_tensor(struct cxx_work *w, const void *impl, bool out);

/* Returns the bytes to reserve for n results that are described when the call returns. */
uint32_t torch_compute_output_bytes(uint32_t n);

/* ---- autograd's nodes (autograd_node.c) ---- */

bool torch_node_wanted(const char *symbol);

/*
 * Fills in a row, except its link name; the row records nothing if the node's operator is not
 * listed.
 */
bool torch_set_node_row(struct torch_function *r, const char *symbol);

/* ---- sums of gradients (node_sums.c) ---- */

/* True if gradients are recorded as autograd passes them on. */
bool torch_node_sums_wanted(void);

/*
 * A node's function has returned the vector `gradients`; seq: number of its record. Runs on the
 * engine's thread, like all functions of node_sums.c.
 */
void torch_record_node(struct api *row, uint64_t seq, const void *gradients);

/* The gradients are about to be summed to the shapes of their arguments, or have been. */
void torch_check_node_sums(const void *gradients);
void torch_record_node_sums(const void *gradients);

/*
 * A node for a leaf has been made. All such nodes have the same number, which shows the number's
 * offset.
 */
void torch_check_leaf_node(const void *node);

/* Returns a node's number; UINT64_MAX: the offset is not known. */
uint64_t torch_get_node_number(const void *node);

/*
 * Returns the number that the calling thread's next node will have. Returns false if it is not
 * known.
 */
bool torch_read_next_node_number(uint64_t *number);

/* Stores in c the nodes that were made since the next node's number was `from`. */
void torch_set_call_nodes(struct call *c, uint64_t from);

/* ---- kinds (kinds_accumulate.c) ---- */

/* True if nodes of leaves are observed for parameter statistics. */
bool torch_accumulate_wanted(void);
/* true if they are observed for statistics or for names of gradients */
bool torch_leaves_wanted(void);
/* true if gradients get names in rows of calls, or to find which group reduces them */
bool torch_are_gradient_names_wanted(void);

/* A node of a leaf is being made, or has been; or it adds to the leaf's gradient, or has added. */
void torch_handle_new_leaf(struct call *c, bool leaving);
void torch_handle_accumulation(struct call *c, bool leaving);

/*
 * A gradient scaler has skipped the current step: writes the gradients of the step that are
 * known.
 */
void torch_handle_skipped_step(void);

/* ---- operators that end a step (opmarker.c) ---- */

bool torch_is_possible_marker(const char *name); /* name of the C++ struct: add_Tensor */
bool torch_is_marker_check(const char *name, bool call);
enum torch_scope torch_get_marker_scope(
	const char *base, const char *overload); /* SCOPE_NONE: none */
void torch_handle_marker(const struct call *c, bool leaving);

/* An operator that is only observed is entered, or left. */
void torch_handle_op_scope(const struct call *c, bool leaving);

/* ---- buckets of DDP (buckets.c) ---- */

void torch_handle_bucket_hook(const struct call *c, bool leaving);

/*
 * An all_reduce over `ranks` ranks is called on this thread. Inside the hook of a bucket, it
 * reduces the bucket.
 */
void torch_bucket_reduced(int ranks);

/* ---- reducers of DDP (reducers.c) ---- */

/* s: what happened to a reducer (the call's `this`), one of SCOPE_REDUCER_*. */
void torch_handle_reducer(const struct call *c, enum torch_scope s);
/* An optimizer begins its step; records the first one for which a reducer got gradients and did not finish. */
void torch_check_reducers(void);

/* ---- buffers of FSDP (buckets.c) ---- */

/*
 * Describes v, the buffer of an FSDP reduce_scatter over `ranks` ranks, by the gradient that this
 * thread accumulated last. Returns the bucket's number with JOURNAL_NAME_BUCKET, 0: not known.
 * The call keeps the bucket until it returns.
 */
uint32_t torch_open_shard_bucket(const struct buffer *v, uint32_t ranks);
void torch_close_shard_bucket(void);

/*
 * A gradient was added to the parameter's: from now on collectives and operators know it by name.
 */
void torch_register_gradient(const void *impl);

/*
 * Returns JOURNAL_NAME_* of a tensor whose elements begin at base; 0: not a parameter or
 * gradient.
 */
uint32_t torch_find_tensor_name(const void *impl, const void *base);

/* ---- steps done before the start of the process (optimizer_state.c) ---- */

bool torch_is_optimizer_op(const char *name); /* name: of the C++ struct; only its `call` */
bool torch_has_seen_optimizer(void); /* true if its number of earlier steps is known, too */
void torch_register_optimizer_op(struct torch_function *r, const char *name);
void torch_handle_first_step(bool begins);
/* at each call that may be one of these operators */
void torch_read_optimizer_steps(const struct call *c);
/* at calls of operators that are observed only for this purpose */
void torch_handle_counting_op(const struct call *c);

/* ---- marks ---- */

void torch_handle_mark_begin(struct call *c, enum torch_scope s);
void torch_handle_mark_end(struct call *c, enum torch_scope s);
void torch_marks_forked(void);
void torch_scalars_forked(void);
void torch_late_scalars_forked(void);
void torch_withhold_forked(void);
void torch_names_forked(void);
void torch_meshes_forked(void);

/* ---- all of it ---- */

/*
 * struct adapter.fork_handlers of all of PyTorch's libraries: the functions by which all folders
 * of wrappers/torch reset their state.
 */
extern void (*const torch_fork_handlers[])(void);

#endif
