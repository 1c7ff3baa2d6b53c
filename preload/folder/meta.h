/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.json: the process that wrote the folder, its configuration, what is missing and why. All of it comes from the journal,
 * so that `probe recover` can write it too.
 */
#ifndef PROBE_SINK_META_H
#define PROBE_SINK_META_H

#include "text/text.h"
#include "journal/journal.h"
#include "journal/meta_part.h"

#define META_MAX 262144 /* upper limit for the length of all parts together */

/* c: the commit with the counts to write; NULL: none yet. */
void meta_format(struct text *t, const struct journal *j, const struct journal_commit *c);

#endif
