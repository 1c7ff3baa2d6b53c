/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the keys skip and only that name nothing. */
#ifndef PROBE_CONFIG_CHOSEN_WORDS_H
#define PROBE_CONFIG_CHOSEN_WORDS_H

#include <stdint.h>

#include "config/list/wraplist.h"

struct config;

/*
 * Reports each word of skip and only that matches no function, no operation and no entry of the
 * list, with its place and similar names: a misspelt word would skip nothing, or everything.
 *
 * file: the configuration that was loaded, or the name of another place of the words, NULL: none. env: the variables that were loaded with it
 * (NAME=value, NULL-terminated). Returns how many words were reported.
 */
unsigned emit_unknown_words(const struct config *cfg, const char *file, char *const env[],
	const struct wraplist *list, config_report_fn *report, void *arg);

/*
 * Names of all compiled functions (also as lists name them) and of all operations, each followed by
 * a NUL; an empty one ends them. The generator makes them (build/gen/name_texts.c).
 */
extern const char function_name_texts[], operation_name_texts[];

#endif
