/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/cxx/cxx_types.h"

#include <string.h>

/* ---- parameters: the mangled types, read into text with all substitutions replaced ---- */

#define SUBS_MAX 40
#define TEXT_MAX 160

struct reader {
	const char *p;
	bool bad;
	unsigned nsub, depth;
	char sub[SUBS_MAX][TEXT_MAX];
};

static void add_type_text(struct reader *r, char *to, const char *s, size_t n)
{
	size_t len = strlen(to);

	if (len + n >= TEXT_MAX) {
		r->bad = true;
		return;
	}
	memcpy(to + len, s, n);
	to[len + n] = 0;
}

static void add_sub(struct reader *r, const char *text)
{
	if (r->nsub < SUBS_MAX)
		strcpy(r->sub[r->nsub++], text);
	else
		r->bad = true;
}

static bool read_type_char(struct reader *r, char c)
{
	if (*r->p != c)
		return false;
	r->p++;
	return true;
}

static unsigned read_type_number(struct reader *r)
{
	unsigned n = 0;

	while (*r->p >= '0' && *r->p <= '9' && n < 1000)
		n = n * 10 + (unsigned)(*r->p++ - '0');
	return n;
}

static void read_source_name(struct reader *r, char *to)
{
	unsigned n = read_type_number(r);

	if (!n || memchr(r->p, 0, n)) {
		r->bad = true;
		return;
	}
	add_type_text(r, to, r->p, n);
	r->p += n;
}

static void read_cxx_type(struct reader *r, char *to);

/* I <type>... E; numbers of arrays as Lm3E */
static void read_template_arguments(struct reader *r, char *to)
{
	bool first = true;

	add_type_text(r, to, "<", 1);
	while (*r->p != 'E' && *r->p && !r->bad) {
		if (!first)
			add_type_text(r, to, ",", 1);
		first = false;
		if (read_type_char(r, 'L')) {
			char digits[16] = "";

			r->p++;
			add_type_text(r, digits, "", 0);
			while (*r->p >= '0' && *r->p <= '9' && strlen(digits) < 8)
				strncat(digits, r->p++, 1);
			add_type_text(r, to, digits, strlen(digits));
			r->bad |= !read_type_char(r, 'E');
		} else {
			char one[TEXT_MAX] = "";

			read_cxx_type(r, one);
			add_type_text(r, to, one, strlen(one));
		}
	}
	r->bad |= !read_type_char(r, 'E');
	add_type_text(r, to, ">", 1);
}

/*
 * Appends the text that S_, S0_ ... SZ_ stands for. Returns false if the S begins something else.
 */
static bool read_substitution(struct reader *r, char *to)
{
	unsigned n = 0;
	const char *p = r->p + 1;

	if (*p == '_') {
		n = 0;
	} else {
		for (; (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z'); p++)
			n = n * 36 + (unsigned)(*p <= '9' ? *p - '0' : *p - 'A' + 10);
		if (p == r->p + 1 || *p != '_')
			return false;
		n++;
	}
	r->p = p + 1;
	if (n >= r->nsub)
		r->bad = true;
	else
		add_type_text(r, to, r->sub[n], strlen(r->sub[n]));
	return true;
}

/* N <prefix>... E */
static void read_nested_type(struct reader *r, char *to)
{
	while (*r->p != 'E' && *r->p && !r->bad) {
		if (*r->p == 'S' && r->p[1] == 't') {
			r->p += 2;
			add_type_text(r, to, "std", 3);
			continue;
		}
		if (*r->p == 'S') {
			r->bad |= !read_substitution(r, to);
			continue;
		}
		if (read_type_char(r, 'I')) {
			read_template_arguments(r, to);
		} else {
			if (*to)
				add_type_text(r, to, "::", 2);
			read_source_name(r, to);
		}
		if (*r->p != 'E')
			add_sub(r, to);
	}
	r->bad |= !read_type_char(r, 'E');
	add_sub(r, to);
}

static void read_builtin_type(struct reader *r, char *to)
{
	static const struct {
		char c;
		const char *name;
	} known[] = {{'l', "long"}, {'d', "double"}, {'b', "bool"}, {'i', "int"}, {'a', "int8"},
		{'h', "uint8"}, {'c', "char"}, {'m', "ulong"}, {'v', "void"}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].c == *r->p) {
			r->p++;
			add_type_text(r, to, known[i].name, strlen(known[i].name));
			return;
		}
	r->bad = true;
}

static void read_cxx_type(struct reader *r, char *to)
{
	char of[TEXT_MAX] = "";

	if (r->bad || ++r->depth > 16) {
		r->bad = true;
		return;
	}
	switch (*r->p) {
	case 'R':
	case 'K':
	case 'P':
	case 'O': {
		char c = *r->p++;

		read_cxx_type(r, of);
		add_type_text(r, to, of, strlen(of));
		add_type_text(r, to,
			c == 'R'   ? "&"
			: c == 'K' ? " const"
			: c == 'P' ? "*"
				   : "&&",
			c == 'K'   ? 6
			: c == 'O' ? 2
				   : 1);
		add_sub(r, to);
		break;
	}
	case 'N':
		r->p++;
		read_nested_type(r, to);
		break;
	case 'S':
		if (r->p[1] == 't') { /* std::name, possibly with arguments */
			r->p += 2;
			add_type_text(r, to, "std::", 5);
			read_source_name(r, to);
			add_sub(r, to);
		} else if (!read_substitution(r, to)) {
			r->bad = true;
			break;
		}
		if (*r->p == 'I') {
			r->p++;
			read_template_arguments(r, to);
			add_sub(r, to);
		}
		break;
	default:
		read_builtin_type(r, to);
	}
	r->depth--;
}

bool cxx_handle_parameters(const char *symbol, bool (*take)(const char *type, void *arg), void *arg)
{
	struct reader r = {.p = symbol};
	char text[TEXT_MAX] = "";

	if (strncmp(symbol, "_ZN", 3) != 0)
		return false;
	/*
	 * Components of the function's own name are entered into the table of substitutions, too,
	 * except its last one.
	 */
	r.p = symbol + 3 + (symbol[3] == 'K');
	while (*r.p != 'E' && *r.p && !r.bad) {
		if (*text)
			add_type_text(&r, text, "::", 2);
		read_source_name(&r, text);
		if (*r.p != 'E')
			add_sub(&r, text);
	}
	if (r.bad || !read_type_char(&r, 'E'))
		return false;
	if (strcmp(r.p, "v") == 0)
		return true;
	while (*r.p && *r.p != '.' && *r.p != '@') {
		text[0] = 0;
		r.depth = 0;
		read_cxx_type(&r, text);
		if (r.bad || !take(text, arg))
			return false;
	}
	return true;
}

const struct cxx_class *cxx_class_find(const struct cxx_class *k, size_t count, const char *text)
{
	size_t len = strlen(text);

	for (; count; count--, k++) {
		size_t n = strlen(k->name);

		if (k->name[n - 1] == '*'
				? strncmp(text, k->name, n - 1) == 0 && text[len - 1] == '>'
				: strcmp(text, k->name) == 0)
			return k;
	}
	return NULL;
}
