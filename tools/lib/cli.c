/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/cli.h"

#include <string.h>

#include "tools/lib/tool.h"

#define WORD_MAX 32

/*
 * Counts edits (insert, delete, replace, swap of neighbours) between two words of at most WORD_MAX
 * characters.
 */
static unsigned compute_edit_distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			if (!i || !j) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}

			unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *cli_find_nearest(const char *word, const char *const *words, unsigned n)
{
	size_t len = strlen(word);
	unsigned best = 2 + (unsigned)len / 4; /* words with more edits are not similar */
	const char *found = NULL;

	if (!len || len > WORD_MAX)
		return NULL;
	for (unsigned i = 0; i < n; i++) {
		size_t m = strlen(words[i]);
		unsigned d = m > WORD_MAX ? best : compute_edit_distance(word, len, words[i], m);

		/* A prefix always counts as similar. */
		if (m > len && len > 1 && memcmp(words[i], word, len) == 0)
			d = 1;
		if (d < best && d < len) {
			best = d;
			found = words[i];
		}
	}
	return found;
}

static int print_unknown_option(const struct cli *c, const char *name, size_t len)
{
	const char *words[64], *near;
	char word[WORD_MAX + 1] = "";
	unsigned n = 0;

	words[n++] = "help";
	for (unsigned i = 0; i < c->noptions && n < 64; i++)
		words[n++] = c->options[i].name;
	if (len <= WORD_MAX)
		memcpy(word, name, len);
	near = cli_find_nearest(word, words, n);
	if (near)
		tool_error("%s: unknown option --%.*s; did you mean --%s?", c->argv[0], (int)len,
			name, near);
	else
		tool_error("%s: unknown option --%.*s; `probe %s --help` lists all options",
			c->argv[0], (int)len, name, c->argv[0]);
	return CLI_WRONG;
}

static int read_option_value(
	struct cli *c, int i, const char *dashes, const char *name, const char *attached)
{
	if (attached) {
		c->value = attached;
	} else if (c->at < c->argc) {
		c->value = c->argv[c->at++];
	} else {
		tool_error("%s: %s%s needs a value", c->argv[0], dashes, name);
		return CLI_WRONG;
	}
	return i;
}

static int parse_long_option(struct cli *c, const char *word)
{
	const char *eq = strchr(word, '=');
	size_t len = eq ? (size_t)(eq - word) : strlen(word);

	if (len == 4 && memcmp(word, "help", 4) == 0)
		return CLI_HELP;
	for (unsigned i = 0; i < c->noptions; i++) {
		const struct cli_option *o = &c->options[i];

		if (strlen(o->name) != len || memcmp(o->name, word, len))
			continue;
		if (o->value)
			return read_option_value(c, (int)i, "--", o->name, eq ? eq + 1 : NULL);
		if (eq) {
			tool_error("%s: --%s takes no value", c->argv[0], o->name);
			return CLI_WRONG;
		}
		return (int)i;
	}
	return print_unknown_option(c, word, len);
}

static int parse_short_option(struct cli *c, const char *word)
{
	char name[2] = {word[0], 0};

	if (word[0] == 'h' && !word[1])
		return CLI_HELP;
	for (unsigned i = 0; i < c->noptions; i++) {
		const struct cli_option *o = &c->options[i];

		if (o->letter != word[0])
			continue;
		if (o->value)
			return read_option_value(c, (int)i, "-", name, word[1] ? word + 1 : NULL);
		if (!word[1])
			return (int)i;
		tool_error("%s: -%s takes no value", c->argv[0], name);
		return CLI_WRONG;
	}
	/* -json is --json with one dash missing. */
	if (word[1])
		return print_unknown_option(c, word, strcspn(word, "="));
	tool_error("%s: unknown option -%s; `probe %s --help` lists all options", c->argv[0], word,
		c->argv[0]);
	return CLI_WRONG;
}

int cli_read_argument(struct cli *c)
{
	if (c->at == 0)
		c->at = 1;
	c->value = NULL;
	if (c->at >= c->argc)
		return CLI_END;

	const char *word = c->argv[c->at++];

	if (!c->ended && strcmp(word, "--") == 0) {
		c->ended = true;
		return cli_read_argument(c);
	}
	if (!c->ended && word[0] == '-' && word[1] == '-')
		return parse_long_option(c, word + 2);
	if (!c->ended && word[0] == '-' && word[1])
		return parse_short_option(c, word + 1);
	if (c->command)
		c->ended = true;
	c->value = word;
	return CLI_OPERAND;
}

bool cli_set_folder(const char *verb, const char **folder, const char *operand)
{
	if (*folder) {
		tool_error("%s: %s: only one folder at a time", verb, operand);
		return false;
	}
	*folder = operand;
	return true;
}
