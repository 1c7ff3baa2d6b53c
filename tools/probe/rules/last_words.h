/* SPDX-License-Identifier: Apache-2.0 */
/* Formats what a process has recorded about its own end. */
#ifndef PROBE_TOOLS_LAST_WORDS_H
#define PROBE_TOOLS_LAST_WORDS_H

#include "tools/probe/model/read/read_meta.h"

/*
 * Formats what the process recorded about its end: "by exit with code 3; the last exception before
 * that: ...". The text of an exception is cut to `most` bytes. Returns NULL if nothing is known.
 * malloc'd.
 */
char *last_words_text(const struct meta_ending *e, int most);

#endif
