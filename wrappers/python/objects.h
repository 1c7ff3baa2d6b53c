/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Python's objects from C while the calling thread holds the GIL, without the program noticing:
 *
 * - no bytecode is evaluated: no attribute is looked up as a program would, and no object is compared, hashed, called or
 * converted; only CPython's own functions are called, on objects whose kind is known from the flags of their types;
 * - nothing is allocated that the collector counts, so neither it nor a finaliser can run;
 * - all references are borrowed, and none is kept: results are valid until py_release_objects().
 *
 * For builds with a GIL, the main interpreter, and versions whose layout is known.
 */
#ifndef PROBE_WRAPPERS_PYTHON_OBJECTS_H
#define PROBE_WRAPPERS_PYTHON_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes the GIL for the calling thread, which must have run Python and must hold no lock of libprobe. False: objects cannot be
 * read; *why is the reason if it is permanent, or NULL if that may change (not a Python thread, an interpreter that is ending,
 * an exception being raised).
 */
struct py_hold {
	int state;
};
bool py_hold_objects(struct py_hold *h, const char **why);
void py_release_objects(struct py_hold *h);

/* ---- kinds; subclasses count as their base ---- */

bool py_is_list(const void *o);
bool py_is_tuple(const void *o);
bool py_is_dict(const void *o);
bool py_is_type(const void *o);
bool py_is_str(const void *o); /* exactly */
bool py_is_instance(const void *o, const void *type); /* by the type's own list of base classes */
const char *py_class_name(const void *o); /* of its class, without module */
const void *py_class_of(const void *o);

/* ---- content ---- */

/* For a list or tuple. */
size_t py_count_items(const void *o);
void *py_get_item(const void *o, size_t i);

/* Items of a dict, or of a subclass as a plain dict: *at is 0 at first. */
bool py_next_entry(const void *dict, size_t *at, void **key, void **value);
void *py_find_entry(const void *dict, const char *key); /* by an exact str; NULL: none */

/*
 * The attribute of that name in the object's own dictionary, or its inline storage. NULL: it has none, or its class has an
 * attribute of that name, which would take precedence.
 */
void *py_get_attribute(const void *o, const char *name);

/* A str as UTF-8; false: it is not a str. */
bool py_get_text(const void *o, char *out, size_t cap);
bool py_text_equals(const void *o, const char *text);

/* A float, an int or a bool; false: it is none of these. */
bool py_get_number(const void *o, double *out);

/* True for an int (also a bool) that 64 bits hold. */
bool py_get_integer(const void *o, int64_t *out);

/* An object in a module of sys.modules; NULL: not imported, or no such name. */
void *py_find_global(const char *module, const char *name);

/* ---- where objects are ---- */

#define PY_FRAMES_MAX 256

/* The calling thread's frames, innermost first. */
struct py_frame {
	uintptr_t at;
};
int py_get_frames(struct py_frame *f, int max);
bool py_describe_frame(
	const struct py_frame *f, char *file, size_t nfile, char *function, size_t nfunction);
unsigned py_count_locals(const struct py_frame *f);
/* The i-th variable and its value, also if that is in a cell. False: it has no value. */
bool py_get_local(const struct py_frame *f, unsigned i, void **name, void **value);
void *py_find_local(const struct py_frame *f, const char *name);
void *py_get_globals(const struct py_frame *f);

/* Calls visit with each object that o refers to, until it returns false. Objects of Python classes, bound methods, cells. */
typedef bool py_visit_fn(void *arg, void *o);
void py_visit_referents(void *o, py_visit_fn *visit, void *arg);

/* Calls visit with each object that the collector tracks, until it returns false. False: this is not possible. */
bool py_visit_collected(py_visit_fn *visit, void *arg);

#endif
