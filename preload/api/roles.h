/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_API_ROLES_H
#define PROBE_API_ROLES_H

#include "api/api.h"

/* If a function lacks a role, this other role takes its place; the latter has no substitute itself. */
static const uint8_t stand_in[ROLE_NROLES] = {
	[ROLE_SCOUNT] = ROLE_COUNT,
	[ROLE_RCOUNT] = ROLE_COUNT,
	[ROLE_SDTYPE] = ROLE_DTYPE,
	[ROLE_RDTYPE] = ROLE_DTYPE,
	[ROLE_RPEER] = ROLE_PEER,
	[ROLE_RTAG] = ROLE_TAG,
};

/* The argument that has the role, + 1; 0: none. */
static inline unsigned argument_of(const struct api_spec *s, unsigned role)
{
	unsigned i = s->at[role];

	return i ? i : s->at[stand_in[role]]; /* no argument has ROLE_NONE */
}

#endif
