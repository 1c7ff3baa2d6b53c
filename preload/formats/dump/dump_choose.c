/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "config/rooms/dump.h"
#include "formats/dump/dump_bench.h"
#include "formats/dump/dump_composing.h"
#include "formats/dump/dump_tensors.h"

/* ---- lists of the configuration ---- */

/* Returns the n-th text of a key that is a list, or NULL. */
static const char *find_word_by_number(const char *words, unsigned n, size_t *len)
{
	for (const char *p = words; p && *p; p += *len + (p[*len] != 0)) {
		*len = strcspn(p, "\n");
		if (!n--)
			return p;
	}
	return NULL;
}

static bool is_word_in(const char *words, const char *text)
{
	const char *p;
	size_t len;

	for (unsigned i = 0; (p = find_word_by_number(words, i, &len)); i++)
		if (len == strlen(text) && strncmp(p, text, len) == 0)
			return true;
	return false;
}

static bool has_word_part(const char *words, const char *text)
{
	char part[DUMP_NAME_MAX];
	const char *p;
	size_t len;

	for (unsigned i = 0; (p = find_word_by_number(words, i, &len)); i++) {
		snprintf(part, sizeof(part), "%.*s", (int)len, p);
		if (strstr(text, part))
			return true;
	}
	return false;
}

/* True from the first name of key scope up to the second, inclusive. */
static bool is_in_scope_of_key(struct compose *c, const char *name, const struct staged_call *call)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);
	size_t len;
	const char *first = find_word_by_number(keys->scope, 0, &len);
	size_t nfirst = len;
	const char *last = first ? find_word_by_number(keys->scope, 1, &len) : NULL;
	bool in;

	if (!first)
		return true;
	if (c->scope == SCOPE_BEFORE && strlen(name) == nfirst && strncmp(name, first, nfirst) == 0)
		c->scope = SCOPE_IN;
	in = c->scope == SCOPE_IN || c->scope == SCOPE_LAST;
	if (in && last && strlen(name) == len && strncmp(name, last, len) == 0) {
		bool whole = dump_get_module_part(call) == MODULE_FORWARD;

		c->scope = whole ? SCOPE_LAST : SCOPE_BEHIND;
		c->scope_last = whole ? call->call->seq : 0;
	}
	return in;
}

static bool is_mode_wanted(const struct config *cfg, const char *direction, const char *side)
{
	const char *m = get_dump_keys(cfg)->data_mode;
	bool directions, sides;

	if (!*m || is_word_in(m, "all"))
		return true;
	directions = is_word_in(m, "forward") || is_word_in(m, "backward");
	sides = is_word_in(m, "input") || is_word_in(m, "output");
	return (!directions || is_word_in(m, direction)) && (!sides || is_word_in(m, side));
}

/* True if tensors of the entry named c->w.name are saved. */
static bool are_tensors_saved(const struct compose *c)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);

	return keys->task == DUMP_TENSOR || keys->task == DUMP_DIFF_CHECK ||
	       (*keys->tensor_list && has_word_part(keys->tensor_list, c->w.name));
}

void compose_format_tensor_file(void *arg, const struct staged_call *call,
	const struct journal_tensor *t, const char *stem, char *file, size_t cap)
{
	struct compose *c = arg;

	dump_tensors_name(c->f, c->dirfd, call->call, t, stem, file, cap);
}

/*
 * True if the task keeps this call: tasks that search keep the calls that they find, until there
 * are enough.
 */
static bool is_found(struct compose *c)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);
	bool found;

	if (keys->task != DUMP_OVERFLOW_CHECK && keys->task != DUMP_DIFF_CHECK)
		return true;
	/* The task searches for operators: a module that contains such an operator is not kept. */
	if (keys->task == DUMP_OVERFLOW_CHECK && keys->level == DUMP_MIX &&
		strncmp(c->w.name, "Module.", 7) == 0)
		return false;
	found = *c->left && (keys->task == DUMP_OVERFLOW_CHECK
					    ? dump_has_overflow(&c->group)
					    : dump_is_different(c->bench, c->w.name, &c->group));
	if (found && *c->left > 0)
		--*c->left;
	return found;
}

bool compose_is_entry_wanted(struct compose *c, const char *direction, uint32_t module)
{
	const struct dump_keys *keys = get_dump_keys(c->cfg);
	const struct dump_module_call *m = dump_modules_get(c->modules, module);

	if (!is_in_scope_of_key(c, c->w.name, &c->group.call[0]))
		return false;
	/* A listed module includes everything inside it. */
	if (*keys->list && !(m && m->listed) && !has_word_part(keys->list, c->w.name))
		return false;
	c->w.input = is_mode_wanted(c->cfg, direction, "input");
	c->w.output = is_mode_wanted(c->cfg, direction, "output");
	c->w.saved = are_tensors_saved(c) ? compose_format_tensor_file : NULL;
	return (c->w.input || c->w.output) && is_found(c);
}

bool compose_list_has(const struct compose *c, const char *name)
{
	return has_word_part(get_dump_keys(c->cfg)->list, name);
}
