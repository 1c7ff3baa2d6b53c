/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.json: who wrote the folder, with what configuration, and what is missing and why. Everything in it comes from
 * the journal, so that `probe recover` can write it too.
 */
#ifndef PROBE_SINK_META_H
#define PROBE_SINK_META_H

#include "base/text.h"
#include "journal/journal.h"

#define META_MAX 262144 /* more than all its parts can be long */

/*
 * Parts of meta.json that are text already, kept in the journal's dictionary (DICT_META) as "key\0JSON\0"; the id
 * is the part's number, later ones with the same number replace earlier ones.
 */
enum meta_part {
	META_CONFIG = 1,
	META_LIBRARIES,
	META_PROGRAM,
	META_ENTRY,
	META_SKIPPED,
	META_INVISIBLE,
	META_STEPS_BEFORE,
	META_PARTS
};

/* c: the commit whose counts are meant; NULL: none yet. */
void meta_format(struct text *t, const struct journal *j, const struct journal_commit *c);

#endif
