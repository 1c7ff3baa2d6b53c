/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has said of its own end, in words. */
#ifndef PROBE_TOOLS_LAST_WORDS_H
#define PROBE_TOOLS_LAST_WORDS_H

#include "tools/probe/model/read/read_meta.h"

/* "by exit with code 3; the last exception before that: ...", of an exception at most so many bytes; malloc'd. NULL: nothing. */
char *last_words_text(const struct meta_ending *e, int most);

#endif
