/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts texts to values of struct config, and describes keys for messages. Independent of the
 * job's locale.
 */
#ifndef PROBE_CONFIG_CONFIG_VALUE_H
#define PROBE_CONFIG_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "config/key.h"
#include "base/fpenv.h"

#define CONFIG_KEYS_MAX 160
/* limit for stored paths: names of files are appended, and PATH_MAX is 4096 */
#define CONFIG_PATH_MAX 4000

struct report;

/* Bases of relative paths and of ~/. */
struct path_base {
	const char *cwd; /* absolute; NULL: unknown, relative paths stay relative */
	const char *home; /* NULL: unknown */
};

/* the text for "no memory", the only error that is not the user's: compare the pointer */
extern const char config_oom[];

/* Sets key k from text (not NUL-terminated). Returns NULL, or a static string about the error; then *cfg is unchanged. */
const char *config_set(struct config *cfg, const struct config_key *k, const char *text, size_t len,
	const struct path_base *base);

/*
 * Sets key k to its default. Never fails: without memory, a string points to the text in the key
 * table.
 */
const char *config_set_default(
	struct config *cfg, const struct config_key *k, const struct path_base *base);

/* Frees the value of key k and clears it. */
void config_free_value(struct config *cfg, const struct config_key *k);

#define CONFIG_ACCEPTED_MAX 320
/* Describes the accepted values in buf: "an integer from 1 to 4096". Returns buf. */
char *config_accepted(const struct config_key *k, char *buf, size_t cap);

/* Returns the default as written in a file: 16, "", []. */
const char *config_get_default_text(const struct config_key *k);

/* Returns the key with this name, or NULL. env: the name is in upper case. */
const struct config_key *config_key_find(const char *name, size_t len, bool env);

/* Returns the key with the most similar name, or NULL if none is similar. Case is ignored. */
const struct config_key *config_find_similar_key(const char *name, size_t len);

#define CONFIG_NEAR_MAX 40 /* maximum number of characters of names that are compared */

/*
 * Returns the number of edits (insert, delete, replace, swap of neighbours) between two names of
 * at most CONFIG_NEAR_MAX characters. Case is ignored, and - is _.
 */
unsigned compute_text_edits(const char *a, size_t n, const char *b, size_t m);

/*
 * Sets *out to a malloc'd absolute path, without a leading ./ and a trailing /. Returns NULL, or
 * a text about the error.
 */
const char *set_absolute_path(
	const char *text, size_t len, const struct path_base *base, char **out);

/* Adds the numbers in text, "3", "0,2,4-6" or "[0, 2]", to *r. Returns NULL, or a text about the error (*r may have grown). */
const char *ranges_add(struct ranges *r, const char *text, size_t len);
/* Sorts *r and merges ranges that touch or overlap. Call after the last ranges_add. */
void ranges_merge(struct ranges *r);
void ranges_free(struct ranges *r);

/*
 * Appends a text to the list *all (malloc'd, NULL: empty) of a KEY_WORDS; an empty text is
 * skipped. Returns NULL, or a text about the error.
 */
const char *words_add(const struct config_key *k, char **all, const char *text, size_t len);

/*
 * Reports each wrong entry of a list that config_set() refused. A wrong entry makes the whole value
 * wrong. A value of one entry needs no such line: the message about the value names it.
 */
void config_check_entries(
	const struct config_key *k, const char *text, size_t len, struct report *report);

/*
 * Parses a decimal number in the C locale, whatever the job's is. Returns false if the text is
 * not a number, or too large. Call within fpenv_enter.
 */
bool number_parse(const char *text, size_t len, double *out);

static inline void *config_get_member(const struct config *cfg, const struct config_key *k)
{
	return (char *)cfg + k->offset;
}

/* True if the key's member is a malloc'd string. */
static inline bool config_is_text(const struct config_key *k)
{
	return k->type == KEY_STRING || k->type == KEY_PATTERN || k->type == KEY_MARKER ||
	       k->type == KEY_PATH || k->type == KEY_WORDS || k->type == KEY_ALERTS;
}

#define CONFIG_NUMBERS_MAX 50
#define CONFIG_NUMBERS_MAX_TEXT "50"

/* True for a list of at most CONFIG_NUMBERS_MAX ascending numbers from .min to .max. */
static inline bool config_has_numbers(const struct config_key *k)
{
	return k->type == KEY_WORDS && k->min < k->max;
}

/* True for a list of parts of tensors (config/slice_item.h). Its row has the bounds reversed. */
static inline bool config_has_slices(const struct config_key *k)
{
	return k->type == KEY_WORDS && k->min > k->max;
}

static inline bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * For ASCII letters. tolower() depends on the locale: in Turkish, the lower case of I is another
 * letter.
 */
static inline char get_lower_case(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static inline char get_upper_case(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 32) : c;
}

#endif
