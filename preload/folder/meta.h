/* SPDX-License-Identifier: Apache-2.0 */
/*
 * meta.json: who wrote the folder, with what configuration, and what is missing and why. Everything in it comes from
 * the journal, so that `probe recover` can write it too.
 */
#ifndef PROBE_SINK_META_H
#define PROBE_SINK_META_H

#include "text/text.h"
#include "journal/journal.h"
#include "journal/meta_part.h"

#define META_MAX 262144 /* more than all its parts can be long */

/* c: the commit whose counts are meant; NULL: none yet. */
void meta_format(struct text *t, const struct journal *j, const struct journal_commit *c);

#endif
