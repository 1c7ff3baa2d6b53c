/* SPDX-License-Identifier: Apache-2.0 */
/* Finds misspelt words of the keys `skip` and `only`. */
#ifndef PROBE_TOOLS_WORDS_H
#define PROBE_TOOLS_WORDS_H

#include "config/key.h"

/*
 * Reports the words of cfg's keys skip and only that name nothing in the list that cfg names. place, env: as in
 * emit_unknown_words(). Returns how many there are.
 */
unsigned print_unknown_list_words(const struct config *cfg, const char *place, char *const env[],
	config_report_fn *report, void *arg);

/*
 * Reports on stderr the words of skip and only that name nothing in the configuration that a job
 * started here would have. file: the configuration, NULL: none. Returns how many of them are in the
 * file; the others are in the environment.
 */
unsigned print_unknown_words(const char *file);

#endif
