/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROBE_API_ROLES_H
#define PROBE_API_ROLES_H

#include "api/api.h"

/*
 * The role whose argument is used if a function lacks this role. A substitute has no substitute
 * itself.
 */
static const uint8_t stand_in[ROLE_NROLES] = {
	[ROLE_SCOUNT] = ROLE_COUNT,
	[ROLE_RCOUNT] = ROLE_COUNT,
	[ROLE_SDTYPE] = ROLE_DTYPE,
	[ROLE_RDTYPE] = ROLE_DTYPE,
	[ROLE_RPEER] = ROLE_PEER,
	[ROLE_RTAG] = ROLE_TAG,
};

/* Returns 1 + the index of the argument with this role, or with its substitute; 0: none. */
static inline unsigned find_argument_with_role(const struct api_spec *s, unsigned role)
{
	unsigned i = s->at[role], other = stand_in[role];

	return i || !other ? i : s->at[other];
}

#endif
