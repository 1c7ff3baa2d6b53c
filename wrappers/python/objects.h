/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Python's objects from C while the calling thread holds the GIL, without the program noticing:
 *
 * - no bytecode is evaluated: no attribute is looked up as a program would, and no object is compared, hashed, called or
 * converted; only CPython's own functions are called, on objects whose kind is known from the flags of their types;
 * - nothing is allocated that the collector counts, so neither it nor a finaliser can run;
 * - all references are borrowed, and none is kept: results are valid until py_unlock_objects().
 *
 * For builds with a GIL, the main interpreter, and versions whose layout is known.
 */
#ifndef PROBE_WRAPPERS_PYTHON_OBJECTS_H
#define PROBE_WRAPPERS_PYTHON_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes the GIL for the calling thread, which must have run Python and must hold no lock of
 * libprobe. Returns false if objects cannot be read: *why is the reason if this is permanent, or
 * NULL if it may change (not a Python thread, an interpreter that is ending, an exception being
 * raised).
 */
struct py_object_lock {
	int state;
};
bool py_lock_objects(struct py_object_lock *h, const char **why);
void py_unlock_objects(struct py_object_lock *h);

/* ---- types; subclasses count as their base ---- */

bool py_is_list(const void *o);
bool py_is_tuple(const void *o);
bool py_is_dict(const void *o);
bool py_is_type(const void *o);
bool py_is_str(const void *o); /* exactly a str */
/* according to the list of base classes of the object's type */
bool py_is_instance(const void *o, const void *type);
const char *py_get_class_name(const void *o); /* name of the object's class, without module */
const void *py_get_class(const void *o);

/* ---- content ---- */

/* For a list or a tuple. */
size_t py_get_item_count(const void *o);
void *py_get_item(const void *o, size_t i);

/*
 * Iterates over a dict, or over a subclass as a plain dict: *at is 0 at first. Returns false
 * after the last entry.
 */
bool py_get_next_entry(const void *dict, size_t *at, void **key, void **value);
/* key: compared with exact str objects; NULL: not found */
void *py_find_entry(const void *dict, const char *key);

/*
 * Returns attribute `name` from the object's own dictionary, or its inline storage. Returns NULL
 * if it has none, or if its class has an attribute `name`, which would take precedence.
 */
void *py_get_attribute(const void *o, const char *name);

/* Copies a str as UTF-8. Returns false if o is not a str. */
bool py_get_text(const void *o, char *out, size_t cap);
bool py_has_text(const void *o, const char *text);

/* Reads a float, an int or a bool. Returns false if o is not one of these. */
bool py_get_number(const void *o, double *out);

/* Reads an int (or a bool). Returns false if o is not one, or does not fit into 64 bits. */
bool py_get_integer(const void *o, int64_t *out);

/* Returns an object of a module in sys.modules; NULL: not imported, or no such name. */
void *py_find_global(const char *module, const char *name);

/* ---- frames and references ---- */

#define PY_FRAMES_MAX 256

/* A frame of the calling thread; the first is the innermost. */
struct py_frame {
	uintptr_t at;
};
int py_get_frames(struct py_frame *f, int max);
bool py_get_frame_name(
	const struct py_frame *f, char *file, size_t nfile, char *function, size_t nfunction);
unsigned py_get_local_count(const struct py_frame *f);
/*
 * Reads the name and value of the i-th variable, also if the value is in a cell. Returns false if
 * the variable has no value.
 */
bool py_get_local(const struct py_frame *f, unsigned i, void **name, void **value);
void *py_find_local(const struct py_frame *f, const char *name);
void *py_get_globals(const struct py_frame *f);

/*
 * Calls visit() with each object that o refers to, until visit() returns false. For objects of
 * Python classes, bound methods, cells.
 */
typedef bool py_visit_fn(void *arg, void *o);
void py_handle_referents(void *o, py_visit_fn *visit, void *arg);

/*
 * Calls visit() with each object that the collector tracks, until visit() returns false. Returns
 * false if this is not possible.
 */
bool py_handle_collected(py_visit_fn *visit, void *arg);

#endif
