/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Part of the kit for C++ frameworks: calls of virtual functions that no name leads to, for their class is hidden. They can be
 * reached through an object only. The object is given another table of virtual functions, a copy of its own one with the words in
 * front of it (offset to the top, type information: dynamic_cast goes on) and our entries in place of some functions. Neither
 * the library's table nor its code is written to, and no page's protection is changed.
 *
 * A class is named as in its type information: "N2ns3FooE" (Itanium C++ ABI, 2.9.5).
 */
#ifndef PROBE_WRAPPERS_CXX_SHADOW_H
#define PROBE_WRAPPERS_CXX_SHADOW_H

#include <stdbool.h>

/*
 * The name of the object's dynamic type, which lives as long as its library. NULL: no object with virtual functions lies there,
 * or its class has several bases or a virtual one.
 */
const char *cxx_object_class(const void *object);

/* Is it that class, or one that derives from it, by one base at a time, none of them virtual? */
bool cxx_object_is(const void *object, const char *class);

/* Is that class the object's own, whatever its bases are? */
bool cxx_object_is_of(const void *object, const char *class);

/*
 * The place of a function in the tables of `class` and of what derives from it, from 0: where the exported table of that class has
 * the address of the function of that mangled name, in whatever library it is defined. -1: the class or the function is not
 * exported, or it has several places.
 */
int cxx_virtual_place(const char *class, const char *function);

struct cxx_shadow {
	const char *class; /* that the object must be one of; NULL: any */
	unsigned n;
	const int *place; /* n of them; below 0: there is none */
	/*
	 * What is to stand in place of the i-th function of the class (as cxx_object_class() names it), which lies at that
	 * address; the function itself if it is to stay. Called once for each class.
	 */
	void *(*entry)(unsigned i, void *function, const char *class, void *arg);
	void *arg;
};

/*
 * Gives the object such a table, by one store of a pointer: to be called before others have the object, or where they may have
 * either table. Idempotent. Tables live as long as the process. s must be the same for all objects of a class. Returns 0;
 * -EINVAL: the object is none of that class, or of one that is refused (several bases, a virtual one, a table whose end is not
 * found or that is shorter than the places); -ENOENT: nothing of it is to be replaced; -ENOMEM; -ENOSPC: too many classes.
 */
int cxx_shadow(void *object, const struct cxx_shadow *s);

#endif
