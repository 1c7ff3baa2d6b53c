/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a test is done: with LONG in the environment all of it, and under a sanitizer, which is slow and sees a mistake
 * the first time, a third of the short form. Its file says so: a line "long: WHAT" on top.
 */
#ifndef TESTS_UNIT_LONG_FORM_H
#define TESTS_UNIT_LONG_FORM_H

#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHORTER(n) ((n) > 3 ? (n) / 3 : (n))
#else
#define SHORTER(n) (n)
#endif

static inline long long_or_short(long all, long some)
{
	return getenv("LONG") ? all : SHORTER(some);
}

#endif
