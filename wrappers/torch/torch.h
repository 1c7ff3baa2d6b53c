/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's adapter. Its functions have C++ names, so all of them are entered by stubs and libffi: names.c says which
 * names of a libtorch are wanted and makes their rows; group.c reads the calls of process groups, work.c follows their
 * completion, marks.c watches optimizers and backward passes, tensor.c reads tensors.
 *
 *	c10d::ProcessGroup*::<method>     collectives and messages        lib_c10d
 *	enqueue, finish, wait of a Work   their completion                lib_torch, watched only
 *	autograd, profiler marks          steps and phases                lib_torch, watched only
 *	at::_ops::<operator>::*           operators, if they are listed   lib_aten
 *	torch::autograd::generated::*     their nodes (node.c)            lib_node
 */
#ifndef PROBE_WRAPPERS_TORCH_TORCH_H
#define PROBE_WRAPPERS_TORCH_TORCH_H

#include "call/call.h"
#include "entry/runtime.h"
#include "wrappers/torch/optype.h"
#include "wrappers/torch/tensor.h"

extern const struct lib lib_c10d, lib_torch, lib_aten, lib_node;
extern const struct runtime_provider torch_provider;

/* Tells meta.json which PyTorch this is, at the first call of a process. */
void torch_say_version(void);

/* Is it 1.13? False as long as it is not loaded. */
bool torch_is_1_13(void);

/*
 * A Python extension module of that name is being loaded from that file. Tells meta.json where it is code that
 * torch.compile made: operators do not pass through libtorch in it.
 */
void torch_compiled_code(const char *module, const char *file);

/* ---- process groups ---- */

/* Where a method has its tensors. The argument numbers count `this` as 0. */
enum torch_form {
	FORM_NONE,
	FORM_LIST, /* vector<Tensor>& at 1, in place */
	FORM_OUT_IN, /* Tensor& out at 1, in at 2 */
	FORM_LISTS, /* vector<Tensor>& out at 1, in at 2 */
	FORM_GATHER, /* vector<vector<Tensor>>& out at 1, vector<Tensor>& in at 2 */
	FORM_SCATTER, /* vector<Tensor>& out at 1, vector<vector<Tensor>>& in at 2 */
	FORM_SEND, /* vector<Tensor>& at 1, peer at 2, tag at 3 */
	FORM_RECV,
	FORM_RECV_ANY, /* vector<Tensor>& at 1, tag at 2 */
};

struct torch_method {
	const char *name; /* of the C++ function */
	const char *list; /* functions of torch.distributed that end here, separated by blanks */
	const char *kind; /* op, as in the kinds of configs/apis */
	uint8_t form; /* enum torch_form */
	uint8_t nargs; /* with `this` */
	uint8_t options; /* argument with the options, 0: none */
	int8_t redop, root; /* where in the options, -1: there is none */
};

/* What a row stands for, behind its spec. */
struct torch_row {
	struct api api;
	struct api_spec spec;
	struct api_ffi ffi;
	struct kind kind;
	const struct torch_method *method; /* lib_c10d */
	uint8_t backend; /* enum torch_backend */
	/* The Work that it gives back is not the one that it puts into the queue: when that ends, outputs are not there. */
	_Atomic bool indirect;
	uint8_t scope; /* lib_torch: enum torch_scope */
	struct op_type op; /* lib_aten */
	char op_name[136]; /* of the schema */
	char symbol[128];
	char link_name[];
};

static inline const struct torch_row *torch_row_of(const struct call *c)
{
	return (const struct torch_row *)c->api;
}

enum torch_backend { BACKEND_OTHER, BACKEND_GLOO };

enum torch_scope {
	SCOPE_NONE,
	SCOPE_GLOO_ENQUEUE,
	SCOPE_GLOO_FINISH,
	SCOPE_GLOO_FAILED,
	SCOPE_WAIT, /* of a message */
	SCOPE_BACKWARD,
	SCOPE_ENGINE, /* a thread that works for a backward pass, of a device or of one inside of others */
	SCOPE_RECORD_BEGIN,
	SCOPE_RECORD_NEW,
	SCOPE_RECORD_END,
	SCOPE_SCALE,
	SCOPE_LEAF, /* a node for a leaf of the graph is made */
	SCOPE_MARKER, /* an operator that ends a step */
	SCOPE_COUNTED, /* one that counts the steps of an optimizer */
	SCOPE_LOOK, /* one that shows whether a Python function runs anew */
};

bool torch_describe(struct call *c);
void torch_group_leave(struct call *c);

/* ---- completion ---- */

#define TORCH_TENSORS_MAX 64 /* of one side of a call; further ones have no rows */

/* A call of a process group on its way: its tensors as they were described. */
struct torch_work {
	struct torch_work *next; /* free one */
	struct torch_work *outer; /* the thread's enclosing call */
	/* The call, and its completion once that can come, on another thread and before the call has returned. */
	_Atomic uint32_t users;
	struct call *call; /* valid while the function runs */
	uint32_t depth; /* of the thread when it was entered */
	const void *handle; /* of that Work */
	bool started; /* followed by a Work: the memory is given back at its completion */
	uint16_t nin, nout;
	const void *out_impl[TORCH_TENSORS_MAX];
	struct view in[TORCH_TENSORS_MAX], out[TORCH_TENSORS_MAX];
};

/* For a call that is being described. NULL: no memory, or too many on the way. */
struct torch_work *torch_work_new(struct call *c);
struct torch_work *torch_work_of(const struct call *c); /* NULL: it has none */
void torch_work_leave(struct call *c);
void torch_work_scope(struct call *c, enum torch_scope s, bool leaving);
void torch_work_forked(void);

/*
 * Sees to it that waits of that Work are told of, whose class has no symbols, before anybody else has it (lambda.c). False:
 * it is of another class.
 */
bool torch_watch_wait(void *work);

/* ---- operators (ops.c) ---- */

/* Is this the name of an operator that may be listed (which one exactly is known when the library has been loaded)? */
bool torch_op_wanted(const char *symbol);

/* Fills in a row, but for its link name. False: it is not listed, or cannot be called this way. */
bool torch_op_fill(struct torch_row *r, const char *symbol);

/* Is an overload of that operator listed, or this one (NULL: not known)? By any name that Python has for it. */
bool torch_op_listed(const char *base, const char *overload);

/* A tensor of a call, unless it is undefined or its shape is not known. */
void torch_add_tensor(struct torch_work *w, const void *impl, bool out);

/* Kept for n results that are described when the call returns. */
uint32_t torch_out_room(uint32_t n);

/* ---- autograd's nodes (node.c) ---- */

bool torch_node_wanted(const char *symbol);

/* Fills in a row, but for its link name; one that records nothing where the node's operator is not listed. */
bool torch_node_fill(struct torch_row *r, const char *symbol);

/* A node for a leaf has been made at that address: they all have the same number, by which it is known where it lies. */
void torch_node_leaf(const void *node);

/* The number that the calling thread's next node will have. False: not known. */
bool torch_node_next(uint64_t *number);

/* Notes in c the nodes that were made since the next one was to have the number `from`. */
void torch_node_made(struct call *c, uint64_t from);

/* ---- operators that end a step (opmarker.c) ---- */

bool torch_marker_may_be(const char *name); /* of the C++ struct: add_Tensor */
bool torch_marker_looks(const char *name, bool call);
enum torch_scope torch_marker_scope(
	const char *base, const char *overload); /* SCOPE_NONE: it has none */
void torch_marker(const struct call *c, bool leaving);

/* An operator that is only watched is called, or left. */
void torch_op_scope(const struct call *c, bool leaving);

/* ---- steps done before (before.c) ---- */

bool torch_before_op(const char *name); /* of the C++ struct; `call` only */
void torch_before_row(struct torch_row *r, const char *name);
void torch_before_optimizer(bool begins);
void torch_before_look(const struct call *c); /* at any call that may be one of these operators */
void torch_before_scope(const struct call *c); /* at those that are watched for nothing else */

/* ---- marks ---- */

void torch_mark_enter(struct call *c, enum torch_scope s);
void torch_mark_leave(struct call *c, enum torch_scope s);
void torch_marks_forked(void);

/* ---- all of it ---- */

void torch_forked(void);

#endif
