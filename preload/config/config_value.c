/* SPDX-License-Identifier: Apache-2.0 */
#include "config/config_value.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "config/alert_list.h"
#include "config/marker.h"
#include "config/slice_item.h"

const char config_oom[] = "out of memory";

static bool is_same_word(const char *text, size_t len, const char *word)
{
	size_t i = 0;

	while (i < len && word[i] && get_lower_case(text[i]) == get_lower_case(word[i]))
		i++;
	return i == len && !word[i];
}

static const char *parse_bool(const char *text, size_t len, bool *out)
{
	static const char *const word[] = {"false", "no", "off", "0", "true", "yes", "on", "1"};

	for (size_t i = 0; i < 8; i++) {
		if (is_same_word(text, len, word[i])) {
			*out = i >= 4;
			return NULL;
		}
	}
	return "not true or false";
}

static const char *parse_int(const struct config_key *k, const char *text, size_t len, int64_t *out)
{
	size_t i = 0;
	bool minus = false;
	int64_t v = 0;

	if (len && (text[0] == '-' || text[0] == '+'))
		minus = text[i++] == '-';
	if (i == len)
		return "not an integer";
	for (; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return "not an integer";
		if (v <= (INT64_MAX - 9) / 10)
			v = v * 10 + (text[i] - '0');
		else
			v = INT64_MAX; /* stays out of range, because no key allows as much */
	}
	if (minus)
		v = -v;
	/* The bounds are integers, and exact as doubles. */
	if (v < (int64_t)k->min || v > (int64_t)k->max)
		return "out of range";
	*out = v;
	return NULL;
}

bool number_parse(const char *text, size_t len, double *out)
{
	char buf[64];
	char *end;

	if (len == 0 || len >= sizeof(buf) || strspn(text, "+-0123456789.eE") < len)
		return false;
	memcpy(buf, text, len);
	buf[len] = 0;

	/* The C locale's object is static in glibc: no allocation. */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

	if (!c)
		return false;
	*out = strtod_l(buf, &end, c);
	freelocale(c);
	return *end == 0 && end != buf && isfinite(*out);
}

static const char *parse_float(
	const struct config_key *k, const char *text, size_t len, double *out)
{
	double v;

	if (!number_parse(text, len, &v))
		return "not a number";
	if (v < k->min || v > k->max)
		return "out of range";
	*out = v == 0 ? 0 : v; /* without -0 */
	return NULL;
}

/* Parses "off", or a number with a percent sign. *out: percent, 0: off. */
static const char *parse_share(
	const struct config_key *k, const char *text, size_t len, double *out)
{
	if (is_same_word(text, len, "off")) {
		*out = 0;
		return NULL;
	}
	if (!len || text[len - 1] != '%')
		return "not a percentage";
	return parse_float(k, text, len - 1, out);
}

static const char *parse_enum(
	const struct config_key *k, const char *text, size_t len, unsigned *out)
{
	const char *const *words = config_get_key_words(k);

	for (int i = 0; words[i]; i++) {
		if (is_same_word(text, len, words[i])) {
			*out = (unsigned)i;
			return NULL;
		}
	}
	return "not one of the names";
}

static const char *add_choice(
	const struct config_key *k, const char *text, size_t len, uint64_t *out)
{
	const char *const *words = config_get_key_words(k);

	for (int i = 0; words[i]; i++)
		if (is_same_word(text, len, words[i])) {
			*out |= UINT64_C(1) << i;
			return NULL;
		}
	return "not one of the names";
}

/* Parses a boolean, or names separated by commas or blanks, with or without brackets. */
static const char *parse_choice(
	const struct config_key *k, const char *text, size_t len, uint64_t *out)
{
	const char *end = text + len, *wrong = NULL;
	uint64_t words = 0;
	bool all;

	if (len && !parse_bool(text, len, &all)) {
		for (int i = 0; all && config_get_key_words(k)[i]; i++)
			words |= UINT64_C(1) << i;
		*out = words;
		return NULL;
	}
	if (len >= 2 && *text == '[' && end[-1] == ']') {
		text++;
		end--;
	}
	while (text < end && !wrong) {
		const char *from = text;

		while (text < end && *text != ',' && !is_space(*text))
			text++;
		if (text - from >= 2 && (*from == '"' || *from == '\'') && text[-1] == *from)
			wrong = add_choice(k, from + 1, (size_t)(text - from) - 2, &words);
		else if (text > from)
			wrong = add_choice(k, from, (size_t)(text - from), &words);
		else
			text++;
	}
	if (!wrong)
		*out = words;
	return wrong;
}

/*
 * True if the text has line breaks or other control characters (also C1), which would break
 * messages, CSV columns and JSON.
 */
static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == 0x7f)
			return true;
		if (c == 0xc2 && i + 1 < len && ((unsigned char)text[i + 1] & 0xe0) == 0x80)
			return true;
	}
	return false;
}

static const char *parse_string(const char *text, size_t len, char **out)
{
	if (has_control(text, len))
		return "holds a control character";

	char *s = malloc(len + 1);

	if (!s)
		return config_oom;
	memcpy(s, text, len);
	s[len] = 0;
	*out = s;
	return NULL;
}

/* ".." and symbolic links are not resolved, so that messages show what the user wrote. */
const char *set_absolute_path(
	const char *text, size_t len, const struct path_base *base, char **out)
{
	const char *dir = NULL;

	if (len == 0)
		return "empty";
	if (has_control(text, len))
		return "holds a control character";
	if (text[0] == '~' && (len == 1 || text[1] == '/')) {
		dir = base->home;
		if (!dir || dir[0] != '/')
			return "begins with ~ and HOME is not known";
		text++;
		len--;
	} else if (text[0] != '/') {
		dir = base->cwd;
	}
	while (dir && len && (text[0] == '/' || (text[0] == '.' && (len == 1 || text[1] == '/')))) {
		text++;
		len--;
	}
	while (len > 1 && text[len - 1] == '/')
		len--;

	size_t dlen = dir ? strlen(dir) : 0;

	while (dlen && dir[dlen - 1] == '/' && (dlen > 1 || len))
		dlen--;
	if (dlen + 1 + len > CONFIG_PATH_MAX)
		return "too long a path";

	char *s = malloc(dlen + 1 + len + 1), *p = s;

	if (!s)
		return config_oom;
	if (dir) {
		memcpy(p, dir, dlen);
		p += dlen;
		if (len)
			*p++ = '/';
	}
	memcpy(p, text, len);
	p[len] = 0;
	*out = s;
	return NULL;
}

static const char *parse_path(const struct config_key *k, const char *text, size_t len,
	const struct path_base *base, char **out)
{
	if (len == 0 && !*k->dflt)
		return parse_string("", 0, out);
	/* Words with a meaning, which are not paths. */
	for (const char *const *word = config_get_key_words(k); word && *word; word++)
		if (strlen(*word) == len && memcmp(*word, text, len) == 0)
			return parse_string(text, len, out);
	return set_absolute_path(text, len, base, out);
}

static const char *parse_pattern(const char *text, size_t len, char **out)
{
	const char *wrong = parse_string(text, len, out);
	regex_t re;
	int err;

	if (wrong || !**out)
		return wrong;
	err = regcomp(&re, *out, REG_EXTENDED | REG_NOSUB);
	if (!err) {
		regfree(&re);
		return NULL;
	}
	free(*out);
	return err == REG_ESPACE ? config_oom : "not a regular expression";
}

static const char *parse_marker(const char *text, size_t len, char **out)
{
	struct marker m;
	const char *wrong = marker_parse(text, len, &m);

	return wrong ? wrong : parse_string(text, len, out);
}

/* Returns an error unless the number is larger than the previous one. */
static const char *check_next_number(
	const struct config_key *k, const char *all, const char *text, size_t len)
{
	const char *last = all ? strrchr(all, '\n') : NULL;
	unsigned n = all != NULL;
	double v, before;

	for (const char *s = all; s && *s; s++)
		n += *s == '\n';
	if (n >= CONFIG_NUMBERS_MAX)
		return "one of more than " CONFIG_NUMBERS_MAX_TEXT;
	if (!number_parse(text, len, &v))
		return "not a number";
	if (v < k->min || v > k->max)
		return "out of range";
	last = last ? last + 1 : all;
	return last && number_parse(last, strlen(last), &before) && v <= before ? "not ascending"
										: NULL;
}

const char *words_add(const struct config_key *k, char **all, const char *text, size_t len)
{
	const char *const *name = config_get_key_words(k);
	size_t had = *all ? strlen(*all) : 0;
	char *one, *more;
	const char *wrong = NULL;

	if (!len)
		return NULL;
	wrong = parse_string(text, len, &one);
	if (wrong)
		return wrong;
	if (config_has_numbers(k)) {
		wrong = check_next_number(k, *all, text, len);
	} else if (config_has_slices(k)) {
		wrong = slice_item_parse(text, len, &(struct slice_item){0});
	} else if (name) {
		while (*name && strcmp(*name, one))
			name++;
		wrong = *name ? NULL : "not one of the names";
	}
	more = wrong ? NULL : realloc(*all, had + len + 2);
	if (more) {
		if (had)
			more[had++] = '\n';
		memcpy(more + had, one, len + 1);
		*all = more;
	} else if (!wrong) {
		wrong = config_oom;
	}
	free(one);
	return wrong;
}

/* Returns the end of the next text in a, "b", [x,y]z: a comma outside quotes and brackets. */
static size_t find_word_end(const char *text, size_t len)
{
	int depth = 0;
	char quote = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		char c = text[i];

		if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (strchr("[({", c) && c)
			depth++;
		else if (strchr("])}", c) && c)
			depth -= depth > 0;
		else if (c == ',' && !depth)
			break;
	}
	return i;
}

/*
 * If there are no words, the default is used, as for an empty list in the file. report: gets a line
 * for each wrong word; NULL: the first wrong one is the last that is read.
 */
static const char *parse_reported_words(
	const struct config_key *k, const char *text, size_t len, char **out, struct report *report)
{
	const char *given = text, *wrong = NULL;
	char *all = NULL, quoted[REPORT_VALUE_MAX];

	while (len && is_space(text[len - 1]))
		len--;
	while (len && is_space(text[0]))
		text++, len--;
	/* The text is a list in JSON notation, unless its bracket is closed earlier. */
	if (len > 1 && text[0] == '[' && text[len - 1] == ']' && !memchr(text + 1, ']', len - 2))
		text++, len -= 2;
	while (len && (!wrong || report)) {
		size_t n = find_word_end(text, len), rest = n + (n < len);
		const char *word = text;

		text += rest;
		len -= rest;
		while (n && is_space(word[n - 1]))
			n--;
		while (n && is_space(word[0]))
			word++, n--;
		if (n > 1 && (word[0] == '"' || word[0] == '\'') && word[n - 1] == word[0])
			word++, n -= 2;

		const char *bad = words_add(k, &all, word, n);

		if (bad && report)
			report_emit_at(report, 0, 0, "%s: %s: %s; no entry of this value is used",
				k->name, report_format_quoted(quoted, word, n), bad);
		wrong = wrong ? wrong : bad;
	}
	if (!wrong && !all && given != k->dflt)
		return parse_reported_words(k, k->dflt, strlen(k->dflt), out, NULL);
	if (!wrong && !all && !(all = strdup("")))
		wrong = config_oom;
	if (wrong)
		free(all);
	else
		*out = all;
	return wrong;
}

static const char *parse_words(const struct config_key *k, const char *text, size_t len, char **out)
{
	return parse_reported_words(k, text, len, out, NULL);
}

void config_check_entries(
	const struct config_key *k, const char *text, size_t len, struct report *report)
{
	char *all = NULL;

	if (k->type == KEY_ALERTS)
		alert_list_check(text, len, report);
	else if (k->type == KEY_WORDS && memchr(text, ',', len) &&
		 !parse_reported_words(k, text, len, &all, report))
		free(all);
}

static const char *parse_ranges(const char *text, size_t len, struct ranges *out)
{
	struct ranges r = {0, NULL};
	const char *wrong = ranges_add(&r, text, len);

	if (wrong) {
		ranges_free(&r);
		return wrong;
	}
	ranges_merge(&r);
	*out = r;
	return NULL;
}

static void free_string(const struct config_key *k, char **at)
{
	if (*at != k->dflt) /* see config_set_default */
		free(*at);
	*at = NULL;
}

void config_free_value(struct config *cfg, const struct config_key *k)
{
	if (config_is_text(k))
		free_string(k, config_get_member(cfg, k));
	else if (k->type == KEY_RANGES)
		ranges_free(config_get_member(cfg, k));
}

const char *config_set(struct config *cfg, const struct config_key *k, const char *text, size_t len,
	const struct path_base *base)
{
	void *at = config_get_member(cfg, k);
	char *s = NULL;
	struct ranges r;
	const char *wrong = NULL;

	if (!config_is_text(k)) {
		while (len && is_space(text[len - 1]))
			len--;
		while (len && is_space(text[0])) {
			text++;
			len--;
		}
	}
	switch (k->type) {
	case KEY_BOOL:
		return parse_bool(text, len, at);
	case KEY_INT:
		return parse_int(k, text, len, at);
	case KEY_FLOAT:
		return parse_float(k, text, len, at);
	case KEY_SHARE:
		return parse_share(k, text, len, at);
	case KEY_ENUM:
		return parse_enum(k, text, len, at);
	case KEY_CHOICE:
		return parse_choice(k, text, len, at);
	case KEY_STRING:
	case KEY_PATTERN:
	case KEY_MARKER:
	case KEY_PATH:
	case KEY_WORDS:
	case KEY_ALERTS:
		wrong = k->type == KEY_PATH	 ? parse_path(k, text, len, base, &s)
			: k->type == KEY_ALERTS	 ? alert_list_parse(text, len, &s)
			: k->type == KEY_WORDS	 ? parse_words(k, text, len, &s)
			: k->type == KEY_PATTERN ? parse_pattern(text, len, &s)
			: k->type == KEY_MARKER	 ? parse_marker(text, len, &s)
						 : parse_string(text, len, &s);
		if (!wrong) {
			config_free_value(cfg, k);
			*(char **)at = s;
		}
		break;
	case KEY_RANGES:
		wrong = parse_ranges(text, len, &r);
		if (!wrong) {
			config_free_value(cfg, k);
			*(struct ranges *)at = r;
		}
		break;
	}
	return wrong;
}

const char *config_set_default(
	struct config *cfg, const struct config_key *k, const struct path_base *base)
{
	const char *wrong = config_set(cfg, k, k->dflt, strlen(k->dflt), base);

	/* No memory, or the working directory's path is too long: uses the text as written. */
	if (wrong && config_is_text(k)) {
		config_free_value(cfg, k);
		*(char **)config_get_member(cfg, k) = (char *)k->dflt;
	}
	return wrong;
}
