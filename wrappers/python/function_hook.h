/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts the calls of one Python function, without an entry in any table of the program or of Python. A function object has
 * a pointer to the C function that runs it (`vectorcall`, PEP 590). libprobe's replaces it and calls the original. Nothing else
 * of the function changes, and calls from C reach it as before, such as the `__call__` of a class.
 *
 * All functions here need the GIL unless stated otherwise.
 */
#ifndef PROBE_WRAPPERS_PYTHON_FUNCTION_HOOK_H
#define PROBE_WRAPPERS_PYTHON_FUNCTION_HOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct py_object py_object; /* PyObject */
typedef py_object *py_vectorcall_fn(
	py_object *callable, py_object *const *args, size_t nargsf, py_object *kwnames);

/* The number of positional arguments. PY_VECTORCALL_ARGUMENTS_OFFSET: a flag set by the caller. */
static inline size_t py_nargs(size_t nargsf)
{
	return nargsf & ~(SIZE_MAX / 2 + 1);
}

/*
 * Takes the GIL for the calling thread, which need not hold it. False: the interpreter is unknown or unsuitable (built without
 * a GIL, finalising, not the main one), or the thread runs no Python; *why is the reason if it is permanent, or NULL if it may
 * be possible later. Pass *state to the releasing function.
 */
bool py_hold(int *state, const char **why);
void py_let_go(int state);

/* True if the calling thread holds the GIL. */
bool py_is_held(void);

/* True if the program has imported that module. */
bool py_has_module(const char *name);

/*
 * Replaces the vectorcall of the `__call__` of class `class_name` in module `module` by `with`, and stores the original
 * in *old. Then tests it by calling a new object of that class, without attributes, for which py_trial_takes() must be
 * used in `with`. Returns NULL, or the reason why it does not work; then nothing has changed.
 */
const char *py_hook_call(const char *module, const char *class_name, py_vectorcall_fn *with,
	py_vectorcall_fn *_Atomic *old);

/*
 * The plain function of that name ("f", "Class.f") in a module that the program has imported and whose file `is_file` accepts, under
 * what decorators have put around it (staticmethod, classmethod, functools.wraps); borrowed. NULL: there is none.
 */
py_object *py_find_function(
	bool (*is_file)(const void *arg, const char *file), const void *arg, const char *name);

/*
 * Replaces the vectorcall of that function by `with`, which is called with it as `callable`, and stores the original in *old,
 * the same for all functions. The function is kept. Returns NULL, or the reason why it does not work. CPython 3.11 asks a
 * function for its vectorcall only if C calls it, which includes calls with * and **: see py_calls_directly().
 */
const char *py_hook_function(
	py_object *function, py_vectorcall_fn *with, py_vectorcall_fn *_Atomic *old);

/* How many modules the program has imported. */
size_t py_count_modules(void);

/* True if this Python runs a call written as f(x) without asking the function for its vectorcall. */
bool py_calls_directly(void);

/*
 * Names of its parameters that can be given by position, a tuple that is kept for as long as the process lives; *n: how many of
 * its first items they are. NULL: not known.
 */
py_object *py_parameter_names(py_object *function, size_t *n);

/* `with` must call this first: if this call is the trial, it sets *result, which is to be returned at once. */
bool py_trial_takes(py_object *callable, py_object *const *args, size_t nargsf, py_object **result);

/* The entry of an object's own dictionary under that name, borrowed; NULL: there is none. No code of the program runs. */
py_object *py_own_attribute(py_object *o, const char *name);

bool py_is_true(const py_object *o); /* true if it is the object True */
bool py_is_false(const py_object *o);

/* Its elements, if it is exactly a tuple or a list. */
bool py_sequence(py_object *o, py_object *const **at, size_t *n);

/* Iterates over the entries of a dict, or of a subclass as a plain dict: *pos is 0 at first. */
bool py_dict_next(py_object *o, intptr_t *pos, py_object **key, py_object **value);

/* Its characters, if it is a str of ASCII characters only; NULL: it is not. Valid as long as the str. */
const char *py_ascii(py_object *o);

/* True if a is an object of that type, or of a subtype. */
bool py_is_kind_of(const py_object *o, const py_object *type);

#endif
