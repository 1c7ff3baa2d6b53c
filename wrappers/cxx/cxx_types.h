/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the kit for C++ frameworks: how the parameters of a function are passed, from its mangled name (Itanium C++ ABI).
 * Scalars, pointers and references show in the name; of classes by value an adapter's table says what they are: how they
 * are laid out, or that they go as a pointer to the caller's object.
 */
#ifndef PROBE_WRAPPERS_CXX_TYPES_H
#define PROBE_WRAPPERS_CXX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* What is known of a type. */
struct cxx_class {
	const char *name; /* ends with *: the beginning of one with template arguments */
	uint8_t ctype; /* enum ctype */
	uint8_t arg; /* what it holds: the adapter's own number */
	const struct api_struct *members; /* where ctype is CT_STRUCT */
};

/*
 * Calls take with the type of each parameter, all substitutions replaced ("std::optional<at::Tensor> const&"), until it returns
 * false. `this` does not stand in a name. False: take said so, or the name has something that is not known here (a template,
 * an operator, a function pointer).
 */
bool cxx_each_parameter(const char *symbol, bool (*take)(const char *type, void *arg), void *arg);

/* The row of that type, or NULL. */
const struct cxx_class *cxx_class_find(
	const struct cxx_class *table, size_t count, const char *type);

#endif
