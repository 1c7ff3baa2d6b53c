/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython keeps what a traceback shows, by version: offsets in bytes into its structures, builds with a GIL on
 * 64-bit machines. Sources: the headers of each version (cpython/pystate.h, internal/pycore_frame.h, cpython/code.h,
 * cpython/unicodeobject.h), compiled; stable within a minor version. Free-threaded builds lay all of it out otherwise and
 * are not read.
 */
#ifndef PROBE_WRAPPERS_PYTHON_LAYOUT_H
#define PROBE_WRAPPERS_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How a frame says where it is. */
enum py_at {
	PY_AT_BYTES, /* int32: bytes into the code */
	PY_AT_UNITS, /* int32: instructions of two bytes */
	PY_AT_POINTER, /* address in the code object's own copy of the instructions */
};

struct py_layout {
	uint8_t minor; /* 3.<minor> */
	uint8_t frame; /* thread state: pointer to the frame, or to `inner` where there is one */
	int8_t inner; /* -1: none; else offset of the frame pointer in what thread state + frame points to */
	uint8_t back, code, globals; /* in a frame; code: low two bits may be a tag */
	uint8_t at_form, at; /* enum py_at, offset */
	uint8_t owner; /* 0: frames have none */
	uint8_t shim; /* frames with this owner or a higher one stand for C code */
	uint8_t file,
		name; /* in a code object: str; name is the qualified one where there is one */
	uint8_t firstline, start,
		traceable; /* int32; first instruction; int32 (0: frames have no incomplete state) */
	uint8_t ascii_data, other_data; /* in a str: its characters, if compact */
};

/* NULL: a version that nobody has looked at. */
const struct py_layout *py_layout_of(const char *version);

#endif
