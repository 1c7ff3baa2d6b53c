/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: intercepts virtual functions of hidden classes, which
 * have no exported names and can only be reached through an object. The object gets another
 * vtable: a copy, including the words before it (offset to the top, type information:
 * dynamic_cast still works), with libprobe's entries for some functions. The library's vtable and
 * code are not written to, and no page's protection is changed.
 *
 * A class is named as in its type information: "N2ns3FooE" (Itanium C++ ABI, 2.9.5).
 */
#ifndef PROBE_WRAPPERS_CXX_SHADOW_H
#define PROBE_WRAPPERS_CXX_SHADOW_H

#include <stdbool.h>

/*
 * Returns the name of the object's dynamic type, valid as long as its library is loaded. Returns
 * NULL if the address is not an object with virtual functions, or if its class has several bases
 * or a virtual one.
 */
const char *cxx_read_object_class(const void *object);

/*
 * True if the object is of class `class`, or of a class that derives from it through single,
 * non-virtual bases.
 */
bool cxx_object_is(const void *object, const char *class);

/* True if `class` is the object's own class, whatever its bases are. */
bool cxx_object_is_of(const void *object, const char *class);

/*
 * Returns the vtable slot, from 0, of a function in `class` and its derived classes: the slot of
 * the exported vtable of `class` that contains the address of `function` (mangled name), in
 * whatever library that is defined. Returns -1 if the class or the function is not exported, or
 * the address is in several slots.
 */
int cxx_find_virtual_place(const char *class, const char *function);

struct cxx_shadow {
	const char *class; /* required class of the object; NULL: any */
	unsigned n;
	const int *place; /* array of n vtable slots; negative: not found */
	/*
	 * Returns the replacement for `function`, the i-th of the slots in the vtable of `class`
	 * (as in cxx_read_object_class()); or `function` itself to keep it. Called once for each
	 * class.
	 */
	void *(*entry)(unsigned i, void *function, const char *class, void *arg);
	void *arg;
};

/*
 * Gives the object a vtable with the replacements, by one store of a pointer. Call it before
 * other threads have the object, or when they may use either vtable. Idempotent. Vtables live as
 * long as the process. s must be the same for all objects of a class. Returns 0; -EINVAL: the
 * object is not of class s->class, or its class is refused (several bases, a virtual one, a
 * vtable whose end is not found or that is too short); -ENOENT: there is nothing to replace;
 * -ENOMEM; -ENOSPC: too many classes.
 */
int cxx_set_shadow(void *object, const struct cxx_shadow *s);

#endif
