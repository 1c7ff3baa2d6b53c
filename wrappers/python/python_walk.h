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

/*
 * Stores the frames, innermost first, at most max, and returns their number. A frame without a
 * code object ends the walk.
 */
int py_read_stack(const struct py *p, uintptr_t tstate, struct foreign_frame *f, int max);

/* Stores the addresses of the frames, including those of generators. */
int py_read_frames(const struct py *p, uintptr_t tstate, uintptr_t *out, int max);
uintptr_t py_get_frame_code(const struct py *p, uintptr_t frame);

/*
 * Returns the object that a word of a frame refers to; 0: none. Before 3.14 the word is the
 * object's address. Since then the low bits give the type of the word
 * (internal/pycore_stackref.h): 0 and 1 a reference that is owned or not, 1 alone no value, 2 not
 * an object (an error, or an address of C), 3 a small integer without an object.
 */
static inline uintptr_t py_referred_object(uintptr_t word)
{
	return word & 2 ? 0 : word & ~(uintptr_t)1;
}

/*
 * Copies a str as UTF-8; if it does not fit, its end. Characters that would break a line become
 * question marks. Returns false if s is not a str.
 */
bool py_copy_text(const struct py *p, uintptr_t s, char *out, size_t cap);

/* Names a frame of py_read_stack(). Returns false if a string cannot be read. */
bool py_read_frame_name(const struct py *p, const struct foreign_frame *f, struct foreign_name *n);

/*
 * True if the code can go from the instruction at `from` back to the one at `to` (bytes from its
 * start, to < from) without being called again, or if that is not known.
 */
bool is_py_loop(const struct py *p, uintptr_t code, uintptr_t from, uintptr_t to);

/*
 * Verifies that this process' structures match the table: makes the same walk, but first asks the
 * kernel about every address, compares the type of every object and computes every line. While
 * the thread holds the GIL, the innermost frame's globals are also compared with the
 * interpreter's own answer. Returns NULL if everything matches (*frames frames were seen); else
 * what does not.
 */
const char *py_check_layout(const struct py *p, uintptr_t tstate, int *frames, bool *held);

#endif
