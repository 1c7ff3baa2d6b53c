/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the kit for C++ frameworks: which release of a Python package a library belongs to. */
#ifndef PROBE_WRAPPERS_CXX_VERSION_H
#define PROBE_WRAPPERS_CXX_VERSION_H

#include <stdbool.h>
#include <stddef.h>

/* Of the package in whose folder, or in a folder of which, that library lies: its version.py says it. False: it does not. */
bool cxx_package_version(const char *library, char *out, size_t cap);

#endif
