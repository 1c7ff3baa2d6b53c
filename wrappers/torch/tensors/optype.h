/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an operator (at::_ops::<name>::call or ::redispatch) is called. Its mangled name gives the
 * parameters; its result type is in its schema, a text inside the library. Types passed by value
 * have the layout used since 2.2 (std::optional), or that of 1.13, which had optionals of its
 * own. An operator with a parameter of another type is not intercepted.
 */
#ifndef PROBE_WRAPPERS_TORCH_OPTYPE_H
#define PROBE_WRAPPERS_TORCH_OPTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Content of a parameter, to find tensors. */
enum op_arg {
	OP_PLAIN,
	OP_TENSOR, /* const Tensor & */
	OP_TENSOR_OUT, /* Tensor &: written */
	OP_OPTIONAL, /* const optional<Tensor> & */
	OP_OPTIONAL_1_13, /* optional of 1.13: the members are in the opposite order */
	OP_LIST, /* TensorList by value */
	OP_ILIST, /* const ITensorListRef & */
	OP_OPTIONAL_LIST, /* const List<optional<Tensor>> & */
};

enum op_result {
	OP_NOTHING, /* void, or not a tensor */
	OP_NEW, /* Tensor by value */
	OP_REFERENCE, /* Tensor &: one of the arguments */
	OP_TUPLE, /* tuple of n Tensors, by value */
	OP_TUPLE_REFERENCE,
	OP_NEW_LIST, /* vector<Tensor> */
	OP_LIST_OUT, /* void: the first list argument is written */
};

struct op_type {
	uint8_t nargs;
	uint8_t ctype[API_ARGS_MAX]; /* enum ctype */
	uint8_t arg[API_ARGS_MAX]; /* enum op_arg */
	const struct api_struct *members[API_ARGS_MAX]; /* if ctype is CT_STRUCT */
	uint8_t ret; /* enum ctype */
	bool hidden; /* the result is a C++ object (struct api_ffi) */
	uint8_t result; /* enum op_result */
	uint8_t nresult; /* number of tensors in a tuple */
};

/*
 * Sets the parameters from the mangled name after `call` or `redispatch` (whose first parameter
 * is a key set), of a libtorch 1.13 or of a later one. Returns false if one of them is not known.
 */
bool parse_op_params(const char *symbol, bool is_1_13, struct op_type *t);

/*
 * Sets the result from a schema such as "add.Tensor(Tensor self, ...) -> Tensor". Returns false
 * if it is not known.
 */
bool parse_op_result(const char *schema, struct op_type *t);

/*
 * Writes the first name after a prefix of a mangled name: ("_ZN2at4_ops3add4callE...",
 * "_ZN2at4_ops") -> "add". Returns the position after it, or NULL if the prefix is another one,
 * or the name does not fit.
 */
const char *get_op_name_after(const char *symbol, const char *prefix, char *out, size_t cap);

/*
 * Nodes of autograd (nodetype.c): writes the class ("AddmmBackward0") from the mangled name of
 * its apply(). Returns false if the symbol does not belong to a node.
 */
bool parse_node_class(const char *symbol, char *out, size_t cap);

/*
 * True if a node of class `node` computes the gradients of any overload of operator `base`
 * ("addmm", in place "addmm_").
 */
bool is_node_of_op(const char *node, const char *base);

/*
 * Nodes have numbers; those of leaves all have the largest one. Returns the offset of the number
 * in a node, in words of 8 bytes: `was` if it is known, or as found from this node of a leaf, or
 * one of these constants.
 */
enum { NODE_NOT_KNOWN, NODE_NO_PLACE = -1 };
int find_node_number_offset(int was, const uint64_t *leaf);

/*
 * Returns the schema of the operator with C++ name `name` (add_Tensor), found in the loaded
 * libtorch; its name in the schema is add.Tensor. Its parameters must be those of t from number
 * `first` on. Returns NULL if there is none, or several match. The text lives as long as the
 * library.
 */
const char *find_op_schema(const char *name, const struct op_type *t, unsigned first);

/* Calls ask() for each schema until ask() returns true. Returns whether it did. */
bool has_op_schema(bool (*ask)(const char *schema, void *arg), void *arg);

#endif
