/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangles C++ names to the extent needed to find a function by its name: the Itanium C++ ABI's mangling, read once from left
 * to right, without allocating memory.
 */
#ifndef PROBE_ELF_DEMANGLE_H
#define PROBE_ELF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/ctype.h"

/* How a parameter is passed: an enum ctype, or one of these. */
enum {
	CXX_CLASS = CT_STRUCT, /* a class or an enum: the name does not show which */
	CXX_ANY, /* not known */
	CXX_NEVER, /* long double, 128-bit types and others that cannot be described */
};

#define CXX_PARAMS_MAX (API_ARGS_MAX + 1)

struct cxx_params {
	int n; /* -1: not known */
	bool nested; /* in a class or a namespace: `this` may precede the parameters */
	bool method; /* a method: `this` precedes them */
	bool variadic;
	uint8_t type[CXX_PARAMS_MAX];
};

/*
 * Writes the qualified name of the function `symbol` without arguments, template arguments and
 * tags: _ZN2ns3VecIfE3addERKf -> ns::Vec::add. A virtual thunk has the name of its function.
 * *params (may be NULL): the parameters in the name. Returns the length, or -1 if `symbol` is not
 * the name of a C++ function, is local to another function, depends on an expression, or does not
 * fit.
 */
int format_cxx_symbol(const char *symbol, char *buf, size_t cap, struct cxx_params *params);

/*
 * Like format_cxx_symbol(), for stacks to be read by people: also accepts names that are local to a
 * function, with {lambda} and {unnamed}, and suffixes of the compiler (.cold, .part.0).
 * _ZZN1A1fEvENKUlvE_clEv -> A::f::{lambda}::operator().
 */
int format_frame_symbol(const char *symbol, char *buf, size_t cap);

#endif
