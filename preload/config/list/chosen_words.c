/* SPDX-License-Identifier: Apache-2.0 */
#include "config/list/chosen_words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config_tree.h"
#include "config/config_value.h"
#include "config/list/chosen.h"
#include "config/list/glob.h"
#include "config/reader.h"

#define SIMILAR_MAX 3

/* Names that are similar to a word, the most similar first. */
struct similar {
	const char *word;
	size_t len;
	unsigned n;
	struct {
		const char *name;
		size_t len;
		unsigned edits;
	} at[SIMILAR_MAX];
};

/* Called with each name that a word may stand for. Returns true to stop. */
typedef bool take_name_fn(const char *name, size_t len, void *arg);

static bool match_texts(const char *texts, take_name_fn *take, void *arg)
{
	for (const char *p = texts; *p; p += strlen(p) + 1)
		if (take(p, strlen(p), arg))
			return true;
	return false;
}

/* The part of a C++ name after its last `::`. */
static const char *find_last_name(const char *name)
{
	const char *last = strrchr(name, ':');

	return last && last > name && last[-1] == ':' ? last + 1 : name;
}

static bool is_named_by(const char *word, size_t len, const char *name)
{
	return is_chosen_word(word, len, name, NULL, NULL);
}

struct asked_word {
	const char *word;
	size_t len;
};

static bool match_function(const char *name, size_t len, void *arg)
{
	const struct asked_word *w = arg;

	(void)len;
	return is_named_by(w->word, w->len, name);
}

static bool match_operation(const char *name, size_t len, void *arg)
{
	const struct asked_word *w = arg;

	(void)len;
	return is_chosen_word(w->word, w->len, NULL, NULL, name);
}

/*
 * True for an entry of the list that the word names, or that covers the word: entries are patterns
 * (c10d::ProcessGroup*::broadcast), and operators are listed without aten:: and their overload.
 */
static bool match_entry(const char *entry, const char *word, size_t len)
{
	char plain[WRAPLIST_NAME_MAX + 1];
	const char *name = plain;

	if (is_named_by(word, len, entry))
		return true;
	if (len > WRAPLIST_NAME_MAX)
		return false;
	memcpy(plain, word, len);
	plain[len] = 0;
	if (glob_is(plain))
		return false;
	if (strncmp(name, "aten::", 6) == 0)
		name += 6;
	if (glob_match(entry, name))
		return true;
	plain[(size_t)(name - plain) + strcspn(name, ".")] = 0;
	return glob_match(entry, name);
}

static bool is_word_known(const char *word, size_t len, const struct wraplist *list)
{
	struct asked_word w = {word, len};

	/* Any word may name a function that the user describes: these are not known here. */
	if (list->imported || wraplist_has_names(list, "custom"))
		return true;
	for (uint32_t i = 0; i < list->n; i++)
		if (match_entry(wraplist_get_text(list, list->entry[i].name), word, len))
			return true;
	return match_texts(function_name_texts, match_function, &w) ||
	       match_texts(operation_name_texts, match_operation, &w);
}

/* True if the word, of at least three characters, is a part of the name, whatever its case. */
static bool has_part(const char *name, size_t n, const char *word, size_t len)
{
	for (size_t at = 0; len > 2 && at + len <= n; at++) {
		size_t i = 0;

		while (i < len && get_lower_case(name[at + i]) == get_lower_case(word[i]))
			i++;
		if (i == len)
			return true;
	}
	return false;
}

static bool add_similar(const char *name, size_t len, void *arg)
{
	struct similar *s = arg;
	unsigned limit = 1 + (unsigned)s->len / 4, edits = limit + 1, at = s->n;

	if (s->len <= CONFIG_NEAR_MAX && len <= CONFIG_NEAR_MAX)
		edits = compute_text_edits(s->word, s->len, name, len);
	if (edits > limit && has_part(name, len, s->word, s->len))
		edits = limit;
	if (edits > limit)
		return false;
	for (unsigned i = 0; i < s->n; i++)
		if (s->at[i].len == len && memcmp(s->at[i].name, name, len) == 0)
			return false;
	while (at > 0 && (s->at[at - 1].edits > edits ||
				 (s->at[at - 1].edits == edits && s->at[at - 1].len > len)))
		at--;
	if (at == SIMILAR_MAX)
		return false;
	if (s->n < SIMILAR_MAX)
		s->n++;
	memmove(&s->at[at + 1], &s->at[at], (s->n - 1 - at) * sizeof(s->at[0]));
	s->at[at].name = name;
	s->at[at].len = len;
	s->at[at].edits = edits;
	return false;
}

/* Writes `; did you mean a, b or c?`, or nothing. */
static const char *print_similar(
	const char *word, size_t len, const struct wraplist *list, char *buf, size_t cap)
{
	struct similar s = {.word = word, .len = len};
	size_t used = 0;

	*buf = 0;
	match_texts(operation_name_texts, add_similar, &s);
	for (uint32_t i = 0; i < list->n; i++) {
		const char *name = find_last_name(wraplist_get_text(list, list->entry[i].name));

		if (!glob_is(name))
			add_similar(name, strlen(name), &s);
	}
	match_texts(function_name_texts, add_similar, &s);
	for (unsigned i = 0; i < s.n; i++) {
		int n = snprintf(buf + used, cap - used, "%s%.*s%s",
			i == 0	       ? "; did you mean "
			: i + 1 == s.n ? " or "
				       : ", ",
			(int)s.at[i].len, s.at[i].name, i + 1 == s.n ? "?" : "");

		if (n < 0 || (size_t)n >= cap - used)
			break;
		used += (size_t)n;
	}
	return buf;
}

/* The place of a word of `key` in the file; NULL: it is not there. */
static const struct tree_node *find_word_node(
	const struct config_tree *t, const char *key, const char *word, size_t len)
{
	const struct tree_node *value = tree_get(t->top, key);

	if (!value || value->kind == TREE_SCALAR)
		return value;
	for (const struct tree_node *n = value->child; n; n = n->next)
		if (n->kind == TREE_SCALAR && n->len == len && memcmp(n->text, word, len) == 0)
			return n;
	return value;
}

static bool is_set_in(char *const env[], const char *variable)
{
	size_t n = strlen(variable);

	for (char *const *e = env; e && *e; e++)
		if (strncmp(*e, variable, n) == 0 && (*e)[n] == '=')
			return (*e)[n + 1] != 0;
	return false;
}

static unsigned emit_unknown_words_of_key(const char *key, const char *variable, const char *words,
	const struct config_tree *t, const char *file, char *const env[],
	const struct wraplist *list, config_report_fn *report, void *arg)
{
	bool by_env = is_set_in(env, variable);
	struct report r;
	const char *word;
	unsigned n = 0;
	size_t len;

	report_start(&r, report, arg, by_env || !file ? "environment" : file);
	for (unsigned i = 0; (word = find_chosen_word(words, i, &len)); i++) {
		char quoted[REPORT_VALUE_MAX], similar[160];
		const struct tree_node *at;

		if (is_word_known(word, len, list))
			continue;
		at = by_env ? NULL : find_word_node(t, key, word, len);
		report_emit_at(&r, at ? at->line : 0, at ? at->col : 0,
			"%s: %s: no operation and no function has this name, so it selects "
			"nothing; accepted: an operation (broadcast), a function, a pattern of "
			"their names (all_*)%s",
			by_env ? variable : key, report_format_quoted(quoted, word, len),
			print_similar(word, len, list, similar, sizeof(similar)));
		n++;
	}
	report_stop(&r);
	return n;
}

unsigned emit_unknown_words(const struct config *cfg, const char *file, char *const env[],
	const struct wraplist *list, config_report_fn *report, void *arg)
{
	const char *only = get_only_words(cfg), *skip = get_skip_words(cfg);
	struct config_tree t = {.top = NULL};
	struct report silent;
	int saved = errno;
	char *text = NULL;
	size_t len = 0;
	unsigned n;

	if (!list || (!*only && !*skip))
		return 0;
	report_start(&silent, NULL, NULL, "");
	if (file && reader_read_file(file, &text, &len) == 0)
		config_tree_read(&t, text, len, &silent, "");
	n = emit_unknown_words_of_key("only", "PROBE_ONLY", only, &t, file, env, list, report, arg);
	n += emit_unknown_words_of_key(
		"skip", "PROBE_SKIP", skip, &t, file, env, list, report, arg);
	config_tree_free(&t);
	free(text);
	errno = saved;
	return n;
}
