/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: how the parameters of a function are passed, from its mangled name (Itanium C++ ABI).
 * Scalars, pointers and references are visible in the name. For classes by value, an adapter's table gives their layout, or
 * that they are passed by pointer to the caller's object.
 */
#ifndef PROBE_WRAPPERS_CXX_TYPES_H
#define PROBE_WRAPPERS_CXX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Properties of a type. */
struct cxx_class {
	const char *name; /* a trailing *: the beginning of a name with template arguments */
	uint8_t ctype; /* enum ctype */
	uint8_t arg; /* content: the adapter's own number */
	const struct api_struct *members; /* if ctype is CT_STRUCT */
};

/*
 * Calls take with the type of each parameter, all substitutions expanded ("std::optional<at::Tensor> const&"), until it
 * returns false. The name does not contain `this`. False: take returned false, or the name has an unknown construct (a
 * template, an operator, a function pointer).
 */
bool cxx_each_parameter(const char *symbol, bool (*take)(const char *type, void *arg), void *arg);

/* The row of that type, or NULL. */
const struct cxx_class *cxx_class_find(
	const struct cxx_class *table, size_t count, const char *type);

#endif
