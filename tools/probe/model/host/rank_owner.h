/* SPDX-License-Identifier: Apache-2.0 */
/* Does the process that owns a folder's journal still run? */
#ifndef PROBE_TOOLS_PROBE_READ_RANK_OWNER_H
#define PROBE_TOOLS_PROBE_READ_RANK_OWNER_H

#include "folder/owner.h"

/*
 * Returns whether the owner o of a folder's journal runs. noted: path of the journal as the process
 * recorded it. path: where the journal is now, because the folder may have been moved. mine: number
 * of mappings of the journal in the caller.
 */
enum owner_life recover_owner_life(
	const struct journal_owner *o, const char *noted, const char *path, uint32_t mine);

/*
 * Returns true if the process was ended and the kernel is still freeing it: it runs no more code,
 * but may hold files until its memory is free. Returns false if it is not ending, or is not visible
 * from here.
 */
bool is_owner_ending(const struct journal_owner *o);

/*
 * Returns the state of process o in the caller's /proc (proc(5): R S D T t Z ...), or 0 if the
 * process does not exist in it.
 */
char read_owner_state(const struct journal_owner *o);

#endif
