/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the toolkit for C++ frameworks: intercepts virtual functions of hidden classes, which have no exported names. They
 * can only be reached through an object. The object gets another table of virtual functions: a copy, including the words before
 * it (offset to the top, type information: dynamic_cast still works), with libprobe's entries for some functions. The library's
 * table and code are not written to, and no page's protection is changed.
 *
 * A class is named as in its type information: "N2ns3FooE" (Itanium C++ ABI, 2.9.5).
 */
#ifndef PROBE_WRAPPERS_CXX_SHADOW_H
#define PROBE_WRAPPERS_CXX_SHADOW_H

#include <stdbool.h>

/*
 * The name of the object's dynamic type, valid as long as its library. NULL: there is no object with virtual functions,
 * or its class has several bases or a virtual one.
 */
const char *cxx_object_class(const void *object);

/* True if it is of that class, or of one that derives from it through single, non-virtual bases. */
bool cxx_object_is(const void *object, const char *class);

/* True if that is the object's own class, whatever its bases are. */
bool cxx_object_is_of(const void *object, const char *class);

/*
 * The index of a function in the tables of `class` and its derived classes, from 0: the index at which the exported table of
 * that class has the address of the function of that mangled name, in whatever library it is defined. -1: the class or the
 * function is not exported, or occurs at several indices.
 */
int cxx_virtual_place(const char *class, const char *function);

struct cxx_shadow {
	const char *class; /* required class of the object; NULL: any */
	unsigned n;
	const int *place; /* n of them; below 0: there is none */
	/*
	 * Returns the replacement for the i-th function of the class (as in cxx_object_class()), which is at that address; or
	 * the function itself to keep it. Called once for each class.
	 */
	void *(*entry)(unsigned i, void *function, const char *class, void *arg);
	void *arg;
};

/*
 * Gives the object such a table, by one store of a pointer. Call it before others have the object, or when either table is
 * acceptable to them. Idempotent. Tables live as long as the process. s must be the same for all objects of a class. Returns 0;
 * -EINVAL: the object is not of that class, or is of one that is refused (several bases, a virtual one, a table whose end is
 * not found or that is too short); -ENOENT: there is nothing to replace; -ENOMEM; -ENOSPC: too many classes.
 */
int cxx_shadow(void *object, const struct cxx_shadow *s);

#endif
