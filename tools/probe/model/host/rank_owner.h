/* SPDX-License-Identifier: Apache-2.0 */
/* The present owner of a folder's journal. */
#ifndef PROBE_TOOLS_PROBE_READ_RANK_OWNER_H
#define PROBE_TOOLS_PROBE_READ_RANK_OWNER_H

#include "folder/owner.h"

/*
 * The state of the owner of a folder's journal. path: where the journal is now; the folder may have been moved since its
 * process noted the path. mine: the number of mappings of it in the caller.
 */
enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path, uint32_t mine);

/*
 * True if the process was ended and is being torn down: it no longer runs code, but may hold its files until its memory has
 * been freed. False: it is not, or it cannot be seen from here.
 */
bool is_owner_ending(const struct journal_owner *o);

/* The state of that process in the caller's /proc (proc(5): R S D T t Z ...); 0: it does not exist there. */
char read_owner_state(const struct journal_owner *o);

#endif
