/* SPDX-License-Identifier: Apache-2.0 */
/* Finds misspelt words of the keys `skip` and `only` before a command is started. */
#ifndef PROBE_TOOLS_WORDS_H
#define PROBE_TOOLS_WORDS_H

#include "config/key.h"

/*
 * Reports on stderr the words of `skip` and `only` that match no function or operation, in the
 * configuration of a job started here. file: the configuration file; NULL: none. Returns how many of these
 * words are in the file; the others are in the environment.
 */
unsigned print_unknown_words(const char *file);

#endif
