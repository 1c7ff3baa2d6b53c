/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few functions that change Python's objects, for the only feature that changes a run
 * (wrappers/torch/act/withhold.c). To be used only between py_lock_objects() and
 * py_unlock_objects() of objects.h.
 */
#ifndef PROBE_WRAPPERS_PYTHON_CHANGE_H
#define PROBE_WRAPPERS_PYTHON_CHANGE_H

#include <stdbool.h>

/* True if the functions below are available. Any thread that holds the GIL. */
bool py_can_change(void);

/* Take and release a reference to an object. Releasing it may run its finalizer. */
void py_add_reference(void *o);
void py_remove_reference(void *o);

bool py_is_none(const void *o);

/*
 * Sets an entry of a dict, which takes its own reference, or removes it (value NULL). key:
 * exactly a str. Returns false on failure.
 */
bool py_set_entry(void *dict, void *key, void *value);
bool py_remove_entry(void *dict, void *key);

/*
 * Raises ValueError(text) in the calling thread as soon as it returns to Python code, because
 * this function is called from C. text: ASCII without quotes and backslashes. Returns false on
 * failure, or if the text is invalid.
 */
bool py_set_value_error(const char *text);

#endif
