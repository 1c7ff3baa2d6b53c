/* SPDX-License-Identifier: Apache-2.0 */
/* Keys skip and only: select functions of the list without a separate list. */
#ifndef PROBE_CONFIG_CHOSEN_H
#define PROBE_CONFIG_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

struct config;

/*
 * True if these keys keep a listed function recorded. symbol: its name; listed: its name in the list, which covers all its
 * forms; op: its operation. A word of `skip` or `only` may match any of the three.
 */
bool is_function_chosen(
	const struct config *cfg, const char *symbol, const char *listed, const char *op);

/* The n-th word of the value of skip or only, and its length; NULL: there are fewer. */
const char *find_chosen_word(const char *words, unsigned n, size_t *len);

/* True if that word matches one of the three names. */
bool fits_chosen_word(
	const char *word, size_t len, const char *symbol, const char *listed, const char *op);

#endif
