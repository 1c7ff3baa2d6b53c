/* SPDX-License-Identifier: Apache-2.0 */
#include "config/list/chosen.h"

#include <string.h>

#include "config/rooms/room.h"
#include "config/list/glob.h"
#include "config/list/wraplist.h"
#include "config/rooms/files.h"

const char *find_chosen_word(const char *words, unsigned n, size_t *len)
{
	for (const char *p = words; p && *p; p += *len + (p[*len] != 0)) {
		*len = strcspn(p, "\n");
		if (!n--)
			return p;
	}
	return NULL;
}

static bool is_name_chosen(const char *pattern, const char *name)
{
	const char *last;

	if (!name)
		return false;
	if (glob_match(pattern, name))
		return true;
	/* For at::_ops::add::call and aten::add.Tensor, the plain name `add` matches too. */
	last = strrchr(name, ':');
	return last && last > name && last[-1] == ':' && glob_match(pattern, last + 1);
}

/*
 * For an operator of PyTorch, add.Tensor: the pattern may also match the name without overload,
 * and with aten:: before it.
 */
static bool is_operator_chosen(const char *pattern, const char *op)
{
	char base[128];
	size_t n = op ? strcspn(op, ".") : 0;

	if (!op || n >= sizeof(base))
		return false;
	if (strncmp(pattern, "aten::", 6) == 0)
		pattern += 6;
	memcpy(base, op, n);
	base[n] = 0;
	return glob_match(pattern, base) || glob_match(pattern, op);
}

bool is_chosen_word(
	const char *word, size_t len, const char *symbol, const char *listed, const char *op)
{
	char pattern[WRAPLIST_NAME_MAX + 1];

	if (len > WRAPLIST_NAME_MAX)
		return false;
	memcpy(pattern, word, len);
	pattern[len] = 0;
	return is_name_chosen(pattern, symbol) || is_name_chosen(pattern, listed) ||
	       is_operator_chosen(pattern, op);
}

static bool is_any_chosen_word(
	const char *words, const char *symbol, const char *listed, const char *op)
{
	const char *word;
	size_t len;

	for (unsigned i = 0; (word = find_chosen_word(words, i, &len)); i++)
		if (is_chosen_word(word, len, symbol, listed, op))
			return true;
	return false;
}

/* NULL: the configuration was never loaded. */
const char *get_only_words(const struct config *cfg)
{
	const char *words = get_files_keys(cfg)->only;

	return words ? words : "";
}

const char *get_skip_words(const struct config *cfg)
{
	const char *words = get_files_keys(cfg)->skip;

	return words ? words : "";
}

bool is_function_chosen(
	const struct config *cfg, const char *symbol, const char *listed, const char *op)
{
	const char *only = get_only_words(cfg), *skip = get_skip_words(cfg);

	if (*only && !is_any_chosen_word(only, symbol, listed, op))
		return false;
	return !*skip || !is_any_chosen_word(skip, symbol, listed, op);
}
