/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPython stores the data of a traceback, by version: offsets in bytes into its structures, for builds with a GIL on
 * 64-bit machines. Sources: the headers of each version (cpython/pystate.h, internal/pycore_frame.h, cpython/code.h,
 * cpython/unicodeobject.h), compiled; stable within a minor version. Free-threaded builds have other layouts and are not read.
 */
#ifndef PROBE_WRAPPERS_PYTHON_PYTHON_LAYOUT_H
#define PROBE_WRAPPERS_PYTHON_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* How a frame stores its position. */
enum py_at {
	PY_AT_BYTES, /* int32: offset in bytes into the code */
	PY_AT_UNITS, /* int32: offset in instructions of two bytes */
	PY_AT_POINTER, /* address in the code object's own copy of the instructions */
};

/* How an object of a Python class stores its attributes while it has no dictionary. */
enum py_values {
	PY_VALUES_NONE, /* an object always has a dictionary */
	PY_VALUES_BESIDE, /* two pointers: to the values, to the dictionary */
	PY_VALUES_TAGGED, /* one pointer: to the values if odd, else to the dictionary */
	PY_VALUES_INSIDE, /* values are stored inline in the object; its dictionary pointer is NULL */
};

struct py_layout {
	uint8_t minor; /* 3.<minor> */
	uint8_t frame; /* in the thread state: pointer to the frame, or to a struct (`inner`) */
	/*
	 * -1: no such struct; else offset of the frame pointer in the struct that thread state +
	 * frame points to
	 */
	int8_t inner;
	uint8_t back, code, globals; /* in a frame; code: low two bits may be a tag */
	uint8_t at_form, at; /* enum py_at, offset */
	uint8_t owner; /* in a frame; 0: frames have no such member */
	uint8_t shim; /* frames with this owner or a higher one represent C code */
	/* in a code object: str; name: the qualified name if the version stores it */
	uint8_t file, name;
	/* int32; first instruction; int32 (0: frames have no incomplete state) */
	uint8_t firstline, start, traceable;
	uint8_t ascii_data, other_data; /* in a str: its characters, for compact strings */
	uint16_t locals; /* in a frame: the values of its variables */
	uint8_t nlocals, varnames; /* in a code object: int32 and tuple of names */
	/* in a code object: tuples of the names after varnames; 0: none */
	uint8_t cellvars, freevars;
	uint8_t values; /* enum py_values */
	/* in the interpreter state: the collector's generations; 0: not known */
	uint16_t collector;
};

/* Returns NULL for a version whose layout was never verified. */
const struct py_layout *py_find_layout(const char *version);

#endif
