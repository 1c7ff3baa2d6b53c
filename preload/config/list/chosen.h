/* SPDX-License-Identifier: Apache-2.0 */
/* Keys skip and only: which functions of the list are recorded, without a list of one's own. */
#ifndef PROBE_CONFIG_CHOSEN_H
#define PROBE_CONFIG_CHOSEN_H

#include <stdbool.h>
#include <stddef.h>

struct config;

/*
 * Is a function that the list has recorded with these keys? symbol: its name; listed: its name in the list, which stands for all
 * its forms; op: its operation. Any of the three may fit a word of `skip` or `only`.
 */
bool is_function_chosen(
	const struct config *cfg, const char *symbol, const char *listed, const char *op);

/* The n-th word of the value of skip or only, and its length; NULL: there are fewer. */
const char *find_chosen_word(const char *words, unsigned n, size_t *len);

/* Does that word fit one of the three names? */
bool fits_chosen_word(
	const char *word, size_t len, const char *symbol, const char *listed, const char *op);

#endif
