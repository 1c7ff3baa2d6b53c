/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts the calls of one Python function, without an entry in any table of the program or of
 * Python. A function object has a pointer to the C function that runs it (`vectorcall`, PEP 590).
 * libprobe replaces this pointer by its own function, which calls the original. Nothing else of
 * the function object changes, and calls from C, such as the `__call__` of a class, reach it as
 * before.
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

/* Number of positional arguments. PY_VECTORCALL_ARGUMENTS_OFFSET: a flag set by the caller. */
static inline size_t py_get_nargs(size_t nargsf)
{
	return nargsf & ~(SIZE_MAX / 2 + 1);
}

/*
 * Takes the GIL for the calling thread, which need not hold it. Returns false if the interpreter
 * is unknown or unsuitable (built without a GIL, finalising, not the main one), or the thread
 * runs no Python; *why is the reason if it is permanent, or NULL if it may be possible later.
 * *state must be passed to the releasing function.
 */
bool py_lock_gil(int *state, const char **why);
void py_unlock_gil(int state);

/* True if the calling thread holds the GIL. */
bool py_is_held(void);

/* True if the program has imported module `name`. */
bool py_has_module(const char *name);

/*
 * Replaces the vectorcall of the `__call__` of class `class_name` in module `module` by `with`,
 * and stores the original in *old. Then tests it by calling a new object of this class, without
 * attributes: `with` must use py_handle_trial_call() to handle this call. Returns NULL, or the reason
 * why it does not work; then nothing has changed.
 */
const char *py_set_call_hook(const char *module, const char *class_name, py_vectorcall_fn *with,
	py_vectorcall_fn *_Atomic *old);

/*
 * Returns the plain function `name` ("f", "Class.f") of an imported module whose file `is_file`
 * accepts, without the decorators around it (staticmethod, classmethod, functools.wraps);
 * borrowed. Returns NULL if there is none.
 */
py_object *py_find_function(
	bool (*is_file)(const void *arg, const char *file), const void *arg, const char *name);

/*
 * Replaces the vectorcall of `function` by `with`, whose argument `callable` is then `function`.
 * Stores the original in *old: it is the same for all functions. Keeps a reference to the
 * function. Returns NULL, or the reason why it does not work. CPython 3.11 uses a function's
 * vectorcall only if C calls it, which includes calls with * and **: see py_has_direct_calls().
 */
const char *py_set_function_hook(
	py_object *function, py_vectorcall_fn *with, py_vectorcall_fn *_Atomic *old);

/* Number of modules that the program has imported. */
size_t py_get_module_count(void);

/* True if this Python runs a call written as f(x) without using the function's vectorcall. */
bool py_has_direct_calls(void);

/*
 * Returns a tuple whose first *n items are the names of the function's parameters that can be
 * given by position; kept for the life of the process. Returns NULL if they are not known.
 */
py_object *py_get_parameter_names(py_object *function, size_t *n);

/*
 * `with` of py_set_call_hook() must call this first. Returns true if this call is the trial: then
 * *result must be returned at once.
 */
bool py_handle_trial_call(
	py_object *callable, py_object *const *args, size_t nargsf, py_object **result);

/*
 * Returns entry `name` of an object's own dictionary, borrowed, or NULL. No code of the program
 * runs.
 */
py_object *py_get_own_attribute(py_object *o, const char *name);

bool py_is_true(const py_object *o); /* true for the object True only */
bool py_is_false(const py_object *o);

/* Returns the elements of an object that is exactly a tuple or a list; false for others. */
bool py_get_sequence(py_object *o, py_object *const **at, size_t *n);

/*
 * Iterates over the entries of a dict, or of a subclass as a plain dict: *pos is 0 at first.
 * Returns false after the last.
 */
bool py_get_next_of_dict(py_object *o, intptr_t *pos, py_object **key, py_object **value);

/*
 * Returns the characters of a str of ASCII characters only, valid as long as the str; NULL for
 * other objects.
 */
const char *py_get_ascii(py_object *o);

/* True if o is an object of `type`, or of a subtype. */
bool py_is_kind_of(const py_object *o, const py_object *type);

#endif
