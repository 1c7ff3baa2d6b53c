/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the toolkit for C++ frameworks: finds the release of a Python package that a library belongs to. */
#ifndef PROBE_WRAPPERS_CXX_VERSION_H
#define PROBE_WRAPPERS_CXX_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/* The version of the package that contains that library, from its version.py. False: not found. */
bool cxx_package_version(const char *library, char *out, size_t cap);

#endif
