/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of the calling thread's Python code, read from the interpreter's structures without the GIL.
 *
 * This is safe because only this thread pushes and pops its own frames, and it is inside a C call. Each frame holds its code
 * object, which holds its names and line table, and these never change. So nothing read here is freed or written meanwhile.
 * Other threads' frames are never read.
 */
#ifndef PROBE_WRAPPERS_PYTHON_PYTHON_WALK_H
#define PROBE_WRAPPERS_PYTHON_PYTHON_WALK_H

#include "wrappers/python/python_layout.h"
#include "stack/foreign.h"

/* CPython's own functions and types, found in the process. */
struct py_api {
	void *(*this_thread)(void); /* PyGILState_GetThisThreadState */
	void *(*holder)(void); /* the thread state that holds the GIL; NULL: not exported */
	void *(*globals)(void); /* PyEval_GetGlobals */
	int (*line)(void *code, int at); /* PyCode_Addr2Line */
	int (*is_initialized)(void);
	uintptr_t code_type, str_type;
};

struct py {
	struct py_api api;
	const struct py_layout *l;
};

/* Frames, innermost first, at most max. A frame without a code object ends the walk. */
int py_walk(const struct py *p, uintptr_t tstate, struct foreign_frame *f, int max);

/* The same with their addresses, generators included. */
int py_frames(const struct py *p, uintptr_t tstate, uintptr_t *out, int max);
uintptr_t py_frame_code(const struct py *p, uintptr_t frame);

/*
 * The object that a word of a frame refers to; 0: none. Before 3.14 the word is its address. Since then the low bits
 * give its type (internal/pycore_stackref.h): 0 and 1 a reference that is owned or not, 1 alone no value, 2 no object
 * (an error, or an address of C), 3 a small integer without an object.
 */
static inline uintptr_t py_referred_object(uintptr_t word)
{
	return word & 2 ? 0 : word & ~(uintptr_t)1;
}

/*
 * A str as UTF-8; if it does not fit, its end. Characters that would break a line become question marks. False: not a
 * str.
 */
bool py_text_of(const struct py *p, uintptr_t s, char *out, size_t cap);

/* Returns false if a string cannot be read. */
bool py_describe(const struct py *p, const struct foreign_frame *f, struct foreign_name *n);

/*
 * True if the code can return from the instruction at `from` to that at `to` (bytes from its start, to < from) without being
 * called again, or if that is not known.
 */
bool py_goes_back(const struct py *p, uintptr_t code, uintptr_t from, uintptr_t to);

/*
 * Verifies that this process' structures match the table: the same walk, with every address first tested by the kernel,
 * every object's type compared and every line computed. While the thread holds the GIL, the innermost frame's globals
 * are also compared with the interpreter's own answer. Returns NULL if all matches (*frames frames were seen); else
 * what does not.
 */
const char *py_verify(const struct py *p, uintptr_t tstate, int *frames, bool *held);

#endif
