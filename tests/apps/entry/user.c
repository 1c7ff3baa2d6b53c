/* SPDX-License-Identifier: Apache-2.0 */
/* A library that uses the library: by an ordinary reference, and, with -DFROM_CONSTRUCTOR, from its constructor. */
#include <stddef.h>

#include "call.h"

PLAIN float user_call(float x);
PLAIN float user_early;
float user_early;

PLAIN float user_call(float x)
{
	float out = -1;

	DIRECT(ARGS(&x, &out, 1));
	return out;
}

#ifdef FROM_CONSTRUCTOR
__attribute__((constructor)) static void early(void)
{
	user_early = user_call(1) + user_call(2);
}
#endif
