/* SPDX-License-Identifier: Apache-2.0 */
/* Who owns a folder's journal now. */
#ifndef PROBE_TOOLS_PROBE_READ_RANK_OWNER_H
#define PROBE_TOOLS_PROBE_READ_RANK_OWNER_H

#include "folder/owner.h"

/*
 * The state of the owner of a folder's journal. path: where the journal is now; it may have been moved since its process
 * noted its place. mine: how often the caller has mapped it.
 */
enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path, uint32_t mine);

/*
 * Its process has been ended and is being taken down: it runs no more, and may hold its files for a while yet, until its memory has
 * been given back. False: it is not so, or not to be seen from here.
 */
bool is_owner_ending(const struct journal_owner *o);

/* The state of that process in the caller's own /proc (proc(5): R S D T t Z ...); 0: it is not to be seen there. */
char read_owner_state(const struct journal_owner *o);

#endif
