/* SPDX-License-Identifier: Apache-2.0 */
/* The library: FACTOR says which copy. */
#include <stddef.h>

#include "call.h"

#ifdef LIB_CXX
int acme::Group::reduce(const float *send, float *recv, int n)
{
#else
int DIRECT(PARAMS)
{
	UNUSED;
#endif
	const float *from = (const float *)send;
	float *to = (float *)recv;

	for (size_t i = 0; i < (size_t)n; i++)
		to[i] = from[i] * FACTOR;
	return 0;
}

#ifdef LIB_CXX
acme::Group::~Group()
{
}

PLAIN acme::Group *acme_group(void)
{
	static acme::Group g;

	return &g;
}
#endif
