/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the toolkit for C++ frameworks: finds the release of a Python package that a library belongs to. */
#ifndef PROBE_WRAPPERS_CXX_VERSION_H
#define PROBE_WRAPPERS_CXX_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the version of the Python package that contains file `library`, from the package's
 * version.py. Returns false if it is not found.
 */
bool cxx_read_package_version(const char *library, char *out, size_t cap);

#endif
