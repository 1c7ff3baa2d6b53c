/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one Python function, seen without an entry in any table of the program's or of Python's: a function object
 * has a pointer to the C function that runs it (`vectorcall`, PEP 590), and ours takes its place and calls that one. Nothing
 * else of the function changes, and it is called as before where the interpreter calls it from C, as it does for the
 * `__call__` of a class.
 *
 * Everything here is for a thread that holds the GIL, but for what says otherwise.
 */
#ifndef PROBE_WRAPPERS_PYTHON_FUNCTION_HOOK_H
#define PROBE_WRAPPERS_PYTHON_FUNCTION_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct py_object py_object; /* PyObject */
typedef py_object *py_vectorcall_fn(
	py_object *callable, py_object *const *args, size_t nargsf, py_object *kwnames);

/* The number of positional arguments. PY_VECTORCALL_ARGUMENTS_OFFSET: a note of the caller's. */
static inline size_t py_nargs(size_t nargsf)
{
	return nargsf & ~(SIZE_MAX / 2 + 1);
}

/*
 * Takes the GIL for the calling thread; it need not hold it. False: the interpreter is not known or not fit for us (built
 * without a GIL, finalising, another one than the main one), or the thread runs no Python; *why says why it never will be, or
 * is NULL where it may be possible later. *state is for the way back.
 */
bool py_hold(int *state, const char **why);
void py_let_go(int state);

/* Does the calling thread hold the GIL? */
bool py_is_held(void);

/* Has the program imported that module? */
bool py_has_module(const char *name);

/*
 * Puts `with` in place of the vectorcall of the function that `class_name` of the module `module` has as its `__call__`,
 * and gives the one that was there to *old. Then tries it: a new object of that class, without attributes, is called;
 * py_trial_takes() is for `with`. NULL: it works; else why not, and nothing has changed.
 */
const char *py_hook_call(const char *module, const char *class_name, py_vectorcall_fn *with,
	py_vectorcall_fn *_Atomic *old);

/* To be asked first by `with`: is this call the trial? Then its answer is *result, and nothing else is done. */
bool py_trial_takes(py_object *callable, py_object *const *args, size_t nargsf, py_object **result);

/* The entry of an object's own dictionary under that name, borrowed; NULL: there is none. No code of the program runs. */
py_object *py_own_attribute(py_object *o, const char *name);

bool py_is_true(const py_object *o); /* is it the object True? */
bool py_is_false(const py_object *o);

/* Its elements, if it is exactly a tuple or a list. */
bool py_sequence(py_object *o, py_object *const **at, size_t *n);

/* The entries of a dict, or of a class below it as the dict that it is, one after the other: *pos is 0 at first. */
bool py_dict_next(py_object *o, intptr_t *pos, py_object **key, py_object **value);

/* Its characters, if it is a str of ASCII characters only; NULL: it is not. As long as it lives. */
const char *py_ascii(py_object *o);

/* Is a an object of that type, or of one below it? */
bool py_is_kind_of(const py_object *o, const py_object *type);

#endif
