/* SPDX-License-Identifier: Apache-2.0 */
/* Keys skip and only: select functions of the list without a separate list file. */
#ifndef PROBE_CONFIG_CHOSEN_H
#define PROBE_CONFIG_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

struct config;

/*
 * True if keys skip and only leave a listed function recorded. symbol: its name; listed: its name
 * in the list, which covers all its variants; op: its operation. A word of `skip` or `only` may
 * match any of the three.
 */
bool is_function_chosen(
	const struct config *cfg, const char *symbol, const char *listed, const char *op);

/* Return the values of only and skip, "" if the key is not set. */
const char *get_only_words(const struct config *cfg);
const char *get_skip_words(const struct config *cfg);

/*
 * Returns the n-th word of the value of skip or only, and its length in *len. Returns NULL if
 * there are fewer words.
 */
const char *find_chosen_word(const char *words, unsigned n, size_t *len);

/* True if `word` matches one of the three names. */
bool is_chosen_word(
	const char *word, size_t len, const char *symbol, const char *listed, const char *op);

#endif
