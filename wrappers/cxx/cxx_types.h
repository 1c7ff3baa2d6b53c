/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: how the parameters of a function are passed, from its
 * mangled name (Itanium C++ ABI). Scalars, pointers and references are visible in the name. For
 * classes by value, an adapter's table gives their layout, or says that they are passed by
 * pointer to the caller's object.
 */
#ifndef PROBE_WRAPPERS_CXX_TYPES_H
#define PROBE_WRAPPERS_CXX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Properties of a type. */
struct cxx_class {
	const char *name; /* with a trailing *: the beginning of a name with template arguments */
	uint8_t ctype; /* enum ctype */
	uint8_t arg; /* the adapter's own number for the content */
	const struct api_struct *members; /* if ctype is CT_STRUCT */
};

/*
 * Calls take() with the type of each parameter, all substitutions expanded
 * ("std::optional<at::Tensor> const&"), until take() returns false. The name does not contain
 * `this`. Returns false if take() did, or if the name has an unknown construct (a template, an
 * operator, a function pointer).
 */
bool cxx_handle_parameters(
	const char *symbol, bool (*take)(const char *type, void *arg), void *arg);

/* Returns the row of a type, or NULL. */
const struct cxx_class *cxx_class_find(
	const struct cxx_class *table, size_t count, const char *type);

#endif
