/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiler does not detect that two parameters of the same C type are swapped: MPI_Send(buf, count, type, tag, dest). Headers
 * name their parameters, so the roles are compared with these names.
 */
#include "gen.h"

#include <ctype.h>
#include <string.h>

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strstr(p, word)) != NULL; p += n)
		if ((p == text || !is_word_char(p[-1])) && !is_word_char(p[n]))
			return true;
	return false;
}

/* Returns the ( after the declaration of `symbol`, or NULL. */
static const char *find_prototype(const char *text, const char *symbol)
{
	size_t n = strlen(symbol);

	for (const char *p = text; (p = strstr(p, symbol)) != NULL; p += n) {
		const char *end = p + n;

		if (p > text && is_word_char(p[-1]))
			continue;
		while (isspace((unsigned char)*end))
			end++;
		if (*end == '(')
			return end;
	}
	return NULL;
}

/* Splits "(int a, const int b[])" at its commas. Returns the number of parameters. */
static unsigned split_parameters(const char *p, const char *begin[], size_t len[], unsigned max)
{
	unsigned depth = 0, n = 0;
	const char *from = p + 1;

	for (; *p; p++) {
		if (*p == '(')
			depth++;
		if (*p != ')' && (*p != ',' || depth != 1))
			continue;
		if (*p == ')' && --depth)
			continue;
		if (n < max) {
			begin[n] = from;
			len[n] = (size_t)(p - from);
		}
		n++;
		from = p + 1;
		if (*p == ')')
			return n;
	}
	return n;
}

/* Returns the last word of a parameter, without []. */
static const char *copy_last_word(const char *p, size_t n)
{
	const char *bracket = memchr(p, '[', n);
	size_t begin;

	if (bracket)
		n = (size_t)(bracket - p);
	while (n && !is_word_char(p[n - 1]))
		n--;
	for (begin = n; begin && is_word_char(p[begin - 1]); begin--)
		;
	return mem_text(p + begin, n - begin);
}

static bool is_accepted_name(const struct library *lib, const char *role, const char *name)
{
	const struct node *list = node_get(lib->check.names, role);

	if (!list)
		return strcmp(role, name) == 0;
	for (unsigned i = 0; i < list->n; i++)
		if (strcmp(node_text(&gen, list->item[i], ""), name) == 0)
			return true;
	return false;
}

/* Returns true if the word belongs to the type: a header may have no names. */
static bool is_type_name(const struct func *f, const char *word)
{
	static const char *const c_types[] = {"void", "char", "int", "long", "double", "float"};

	for (size_t i = 0; i < sizeof(c_types) / sizeof(*c_types); i++)
		if (strcmp(c_types[i], word) == 0)
			return true;
	for (unsigned i = 0; i < f->spec->types.n; i++)
		if (strcmp(f->spec->types.item[i].name, word) == 0)
			return true;
	return false;
}

int check_param_names(const struct library *lib, const struct func *f, const char *text)
{
	const char *begin[API_ARGS_MAX], *open = find_prototype(text, f->symbol);
	size_t len[API_ARGS_MAX];
	unsigned n;
	int agree = 0;

	if (!open)
		return -1;
	n = split_parameters(open, begin, len, API_ARGS_MAX);
	/* f(void), or an old-style f(), which a compiler accepts with any arguments */
	if (n == 1 && !memchr(begin[0], '*', len[0])) {
		const char *only = copy_last_word(begin[0], len[0]);

		if (!*only || strcmp(only, "void") == 0)
			n = 0;
	}
	if (n != f->args.n) {
		fail(f->at, "'%s' has %u parameters in the spec, %u in the header", f->symbol,
			f->args.n, n);
		return 0;
	}
	for (unsigned i = 0; i < n; i++) {
		const struct param *p = &f->args.item[i];
		const char *name = copy_last_word(begin[i], len[i]);

		if (p->role == ROLE_NONE || is_type_name(f, name))
			continue;
		if (is_accepted_name(lib, p->name, name))
			agree++;
		else
			fail(p->at,
				"'%s': parameter %u has role '%s', but the header calls it '%s'",
				f->symbol, i + 1, p->name, name);
	}
	return agree;
}
