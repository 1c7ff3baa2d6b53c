/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: rows made at run time, for functions that a library exports under mangled names and
 * that are entered through stubs and libffi (entry/stubs/provider.h). An adapter appends its own data: struct x_function {
 * struct cxx_function cxx; ... }.
 */
#ifndef PROBE_WRAPPERS_CXX_FUNCTION_H
#define PROBE_WRAPPERS_CXX_FUNCTION_H

#include <stddef.h>

#include "api/api.h"
#include "elf/demangle/demangle.h"

struct cxx_function {
	struct api api; /* must be the first member */
	struct api_spec spec;
	struct api_ffi ffi;
	struct kind kind;
	char symbol[128]; /* the `api` column, set by the caller */
};

/*
 * Makes a row of `bytes` (a struct that begins with struct cxx_function) for the function
 * `mangled`, all zero except pointers within it. It lives as long as the process. Returns NULL if
 * there are too many rows, or no memory (reported for `framework`).
 */
void *cxx_function_open_row(size_t bytes, const char *mangled, const char *framework);

/*
 * Registers the row, which the adapter has filled in. A row that is not registered must be freed
 * with free().
 */
void cxx_function_register(void);

/*
 * True if the parameters match the letters in args, one for each, including `this` of a method.
 * p: a pointer or reference, or an object by value that is passed by pointer; l: a long, or a
 * class that contains one; b: a bool, or an enum; d: a double.
 */
bool cxx_params_match(const char *args, const struct cxx_params *p, bool method);

/*
 * Sets up f as a function that is only observed (TASK_SCOPE). args: as in cxx_params_match(); ret:
 * enum ctype, CT_STRUCT: an object.
 */
void cxx_function_set_observed(
	struct cxx_function *f, const struct adapter *lib, const char *args, uint8_t ret);

#endif
