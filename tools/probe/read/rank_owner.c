/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/read/rank_owner.h"

#include <stdlib.h>
#include <string.h>

#include "tools/probe/read/outside.h"

enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path, uint32_t mine)
{
	enum owner_life life = owner_life(o, noted), sign;
	char *now;

	/* A process that maps another file than the one noted may still map this one: the folder was moved. */
	if (life == OWNER_DEAD && (now = realpath(path, NULL))) {
		if (strcmp(now, noted))
			life = owner_life(o, now);
		free(now);
	}
	if (life == OWNER_LIVES)
		return life;
	sign = outside_sign(path, o, mine);
	if (life == OWNER_UNKNOWN)
		return sign;
	/* Somebody holds what only the owner, or a copy that it made of itself, can hold. */
	return sign == OWNER_LIVES ? OWNER_UNKNOWN : life;
}
