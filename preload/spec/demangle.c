/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive descent over https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling. Only the outermost name is
 * written; of types nothing is kept but how they are passed, for parameters, and that in the table of substitutions
 * too, since S1_ may stand for any type before it.
 */
#include "spec/demangle.h"

#include <string.h>

#define DEPTH_MAX 64
#define SUBS_MAX 256
#define TARGS_MAX 16

struct dm {
	const char *p;
	char *out;
	size_t len, cap;
	bool bad; /* given up; p stands at a NUL then */
	unsigned quiet; /* > 0: not in the outermost name */
	unsigned depth;
	size_t last, last_len; /* the last component written: a constructor is named after it */
	bool is_template, no_return; /* of the outermost name: ends in <...>; a constructor */
	bool nested, method;
	unsigned nsub, ntarg;
	uint8_t sub[SUBS_MAX], targ[TARGS_MAX];
};

static uint8_t type(struct dm *d);
static void name(struct dm *d);
static void encoding(struct dm *d, struct cxx_params *params);

static void give_up(struct dm *d)
{
	d->bad = true;
	d->p = "";
}

static bool enter(struct dm *d)
{
	if (++d->depth > DEPTH_MAX)
		give_up(d);
	return !d->bad;
}

static bool take(struct dm *d, char c)
{
	if (*d->p != c)
		return false;
	d->p++;
	return true;
}

static bool take2(struct dm *d, const char *s)
{
	if (d->p[0] != s[0] || d->p[1] != s[1])
		return false;
	d->p += 2;
	return true;
}

static void want(struct dm *d, char c)
{
	if (!take(d, c))
		give_up(d);
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Up to 6 digits: no name is longer. */
static size_t number(struct dm *d)
{
	size_t v = 0;

	for (int i = 0; i < 6 && digit(*d->p); i++)
		v = v * 10 + (size_t)(*d->p++ - '0');
	return v;
}

static void put(struct dm *d, const char *s, size_t n)
{
	if (d->quiet || d->bad)
		return;
	if (n >= d->cap - d->len) {
		give_up(d);
		return;
	}
	memcpy(d->out + d->len, s, n);
	d->len += n;
}

/* One more component of the outermost name. */
static void component(struct dm *d, const char *mark, const char *s, size_t n)
{
	if (d->quiet)
		return;
	if (d->len)
		put(d, "::", 2);
	put(d, mark, strlen(mark));
	d->last = d->len;
	d->last_len = n;
	put(d, s, n);
	d->is_template = d->no_return = false;
}

static void add_sub(struct dm *d, uint8_t t)
{
	if (d->nsub == SUBS_MAX)
		give_up(d);
	else
		d->sub[d->nsub++] = t;
}

/* [0-9A-Z]* _ : a number in base 36, plus 1; nothing is 0. */
static size_t seq_id(struct dm *d)
{
	size_t v = 0;

	if (take(d, '_'))
		return 0;
	for (int i = 0; i < 4 && (digit(*d->p) || upper(*d->p)); i++, d->p++)
		v = v * 36 + (size_t)(digit(*d->p) ? *d->p - '0' : *d->p - 'A' + 10);
	want(d, '_');
	return v + 1;
}

static void source_name(struct dm *d)
{
	size_t n = number(d);

	if (!n || strnlen(d->p, n) < n) {
		give_up(d);
		return;
	}
	if (n >= 10 && memcmp(d->p, "_GLOBAL_", 8) == 0 && strchr("._$", d->p[8]) && d->p[9] == 'N')
		component(d, "", "(anonymous namespace)", 21);
	else
		component(d, "", d->p, n);
	d->p += n;
}

static void tags(struct dm *d)
{
	d->quiet++;
	while (take(d, 'B'))
		source_name(d);
	d->quiet--;
}

static void operator_name(struct dm *d)
{
	static const char ops[] =
		"nw new\0na new[]\0dl delete\0da delete[]\0ng-\0ad&\0de*\0co~\0pl+\0mi-\0ml*\0dv/"
		"\0rm%\0an&\0or|\0eo^\0aS=\0pL+=\0mI-=\0mL*=\0dV/=\0rM%=\0aN&=\0oR|=\0eO^=\0ls<<"
		"\0rs>>\0lS<<=\0rS>>=\0eq==\0ne!=\0lt<\0gt>\0le<=\0ge>=\0ss<=>\0nt!\0aa&&\0oo||\0"
		"pp++\0mm--\0cm,\0pm->*\0pt->\0cl()\0ix[]\0ps+\0";

	for (const char *o = ops; *o; o += strlen(o) + 1) {
		if (take2(d, o)) {
			component(d, "operator", o + 2, strlen(o + 2));
			return;
		}
	}
	give_up(d); /* conversions are named after a type */
}

/* C1, D2 ... */
static void structor(struct dm *d)
{
	char again[256];
	bool dtor = *d->p == 'D', inherits = d->p[1] == 'I';
	size_t n = d->last_len;

	d->p += inherits ? 2 : 1;
	if (!digit(*d->p) || (!d->quiet && (!d->len || n >= sizeof(again)))) {
		give_up(d);
		return;
	}
	d->p++;
	if (inherits) {
		d->quiet++;
		type(d);
		d->quiet--;
	}
	if (d->quiet || d->bad)
		return;
	memcpy(again, d->out + d->last, n);
	component(d, dtor ? "~" : "", again, n);
	d->no_return = d->method = true;
}

/* Ut_ and UlvE_: nothing that a person could name, but part of other names. */
static void unnamed(struct dm *d)
{
	if (!d->quiet) {
		give_up(d);
		return;
	}
	if (take2(d, "Ul"))
		while (!d->bad && !take(d, 'E'))
			type(d);
	else if (!take2(d, "Ut"))
		give_up(d);
	number(d);
	want(d, '_');
}

static void unqualified(struct dm *d)
{
	take(d, 'L');
	if (digit(*d->p))
		source_name(d);
	else if (lower(*d->p))
		operator_name(d);
	else if (*d->p == 'C' || *d->p == 'D')
		structor(d);
	else
		unnamed(d);
	tags(d);
}

/* ---- template arguments ---- */

static uint8_t template_arg(struct dm *d)
{
	if (take(d, 'L')) {
		if (*d->p == '_')
			give_up(d); /* the address of something */
		type(d);
		while (*d->p && *d->p != 'E')
			d->p++;
		want(d, 'E');
		return CXX_ANY;
	}
	if (take(d, 'J')) {
		while (!d->bad && !take(d, 'E'))
			template_arg(d);
		return CXX_ANY;
	}
	return type(d);
}

static void template_args(struct dm *d)
{
	bool outermost = !d->quiet;
	uint8_t arg[TARGS_MAX];
	unsigned n = 0;

	want(d, 'I');
	d->quiet++;
	while (!d->bad && !take(d, 'E')) {
		uint8_t t = template_arg(d);

		if (n < TARGS_MAX)
			arg[n++] = t;
	}
	d->quiet--;
	if (!outermost)
		return;
	d->is_template = true;
	d->ntarg = n;
	memcpy(d->targ, arg, n);
}

static uint8_t template_param(struct dm *d)
{
	size_t i;

	want(d, 'T');
	i = seq_id(d);
	return i < d->ntarg ? d->targ[i] : CXX_ANY;
}

/* ---- names ---- */

/* Sa ... Sd, written out; false if it is none. */
static bool abbreviation(struct dm *d)
{
	static const char names[] = "aallocator\0bbasic_string\0sstring\0iistream\0oostream\0"
				    "diostream\0";

	for (const char *s = names; *s; s += strlen(s) + 1) {
		if (d->p[1] != *s)
			continue;
		d->p += 2;
		component(d, "", "std", 3);
		component(d, "", s + 1, strlen(s + 1));
		return true;
	}
	return false;
}

static uint8_t substitution(struct dm *d)
{
	size_t i;

	if (!d->quiet)
		give_up(d); /* the text is not kept */
	want(d, 'S');
	i = seq_id(d);
	if (i >= d->nsub)
		give_up(d);
	return d->bad ? CXX_ANY : d->sub[i];
}

static void prefix_part(struct dm *d)
{
	switch (*d->p) {
	case 'S':
		if (take2(d, "St"))
			component(d, "", "std", 3);
		else if (!abbreviation(d))
			substitution(d);
		break;
	case 'I':
		template_args(d);
		break;
	case 'T':
		if (!d->quiet)
			give_up(d);
		template_param(d);
		break;
	default:
		unqualified(d);
	}
}

static void nested_name(struct dm *d)
{
	const char *from = d->p + 1;

	want(d, 'N');
	while (*d->p == 'r' || *d->p == 'V' || *d->p == 'K')
		d->p++;
	if (*d->p == 'R' || *d->p == 'O')
		d->p++;
	if (!d->quiet && d->p > from)
		d->method = true;
	while (!d->bad && !take(d, 'E')) {
		bool known = *d->p == 'S';

		prefix_part(d);
		if (!known && *d->p != 'E')
			add_sub(d, CXX_CLASS);
	}
	if (!d->quiet)
		d->nested = true;
}

/* A name in a function: only types that are arguments may have such, and there it does not matter which. */
static void local_name(struct dm *d)
{
	if (!d->quiet)
		give_up(d);
	want(d, 'Z');
	encoding(d, NULL);
	want(d, 'E');
	if (!take(d, 's'))
		name(d);
	if (take(d, '_')) {
		if (take(d, '_')) {
			number(d);
			want(d, '_');
		} else {
			number(d);
		}
	}
}

static void name(struct dm *d)
{
	bool known = false;

	if (!enter(d))
		return;
	if (*d->p == 'N') {
		nested_name(d);
	} else if (*d->p == 'Z') {
		local_name(d);
	} else {
		if (take2(d, "St")) {
			component(d, "", "std", 3);
			unqualified(d);
		} else if (*d->p == 'S') {
			known = true;
			if (!abbreviation(d))
				substitution(d);
		} else {
			unqualified(d);
		}
		if (*d->p == 'I') {
			if (!known)
				add_sub(d, CXX_CLASS);
			template_args(d);
		}
	}
	d->depth--;
}

/* ---- types ---- */

static uint8_t builtin(char c)
{
	switch (c) {
	case 'v':
		return CT_VOID;
	case 'b':
	case 'h':
		return CT_U8;
	case 'a':
	case 'c':
		return CT_I8;
	case 's':
		return CT_I16;
	case 't':
		return CT_U16;
	case 'i':
	case 'w':
		return CT_I32;
	case 'j':
		return CT_U32;
	case 'l':
	case 'x':
		return CT_I64;
	case 'm':
	case 'y':
		return CT_U64;
	case 'f':
		return CT_F32;
	case 'd':
		return CT_F64;
	default:
		return CXX_NEVER;
	}
}

static void function_type(struct dm *d)
{
	want(d, 'F');
	take(d, 'Y');
	while (!d->bad && !take(d, 'E'))
		if ((*d->p == 'R' || *d->p == 'O') && d->p[1] == 'E')
			d->p++;
		else
			type(d);
}

/* D? types. *plain: no substitution later on. */
static uint8_t d_type(struct dm *d, bool *plain)
{
	char c = d->p[1];

	*plain = true;
	if (take2(d, "Dn"))
		return CT_P;
	if (take2(d, "Di"))
		return CT_U32;
	if (take2(d, "Ds"))
		return CT_U16;
	if (take2(d, "Du"))
		return CT_U8;
	if (c && strchr("defhac", c)) {
		d->p += 2;
		return CXX_NEVER;
	}
	if (take2(d, "DF")) {
		number(d);
		if (!take(d, '_') && !take(d, 'b'))
			take(d, 'x');
		return CXX_NEVER;
	}
	*plain = false;
	if (take2(d, "Dp")) {
		type(d);
		return CXX_ANY;
	}
	if (take2(d, "Dv") && digit(*d->p)) {
		number(d);
		want(d, '_');
		type(d);
		return CXX_NEVER;
	}
	if (take2(d, "Do")) {
		function_type(d);
		return CXX_NEVER;
	}
	give_up(d);
	return CXX_NEVER;
}

/* S... as a type. *plain: it is in the table already. */
static uint8_t s_type(struct dm *d, bool *plain)
{
	char c = d->p[1];
	uint8_t t = CXX_CLASS;

	if (c == '_' || digit(c) || upper(c)) {
		t = substitution(d);
		*plain = *d->p != 'I';
		if (!*plain) {
			template_args(d);
			t = CXX_CLASS;
		}
		return t;
	}
	*plain = c != 't';
	name(d);
	if (d->p[-1] == 'E')
		*plain = false; /* Sa with arguments */
	return t;
}

/* Letters before a type. */
static uint8_t compound(struct dm *d)
{
	char c = *d->p;

	switch (c) {
	case 'P':
	case 'R':
	case 'O':
		d->p++;
		type(d);
		return CT_P;
	case 'r':
	case 'V':
	case 'K':
		while (*d->p == 'r' || *d->p == 'V' || *d->p == 'K')
			d->p++;
		return type(d);
	case 'F':
		function_type(d);
		return CXX_NEVER;
	case 'A':
		d->p++;
		number(d);
		want(d, '_');
		type(d);
		return CXX_NEVER;
	case 'M':
		d->p++;
		type(d);
		type(d);
		return CXX_ANY;
	case 'C':
	case 'G':
		d->p++;
		type(d);
		return CXX_NEVER;
	case 'U':
		d->p++;
		source_name(d);
		if (*d->p == 'I')
			template_args(d);
		return type(d);
	default:
		name(d);
		return CXX_CLASS;
	}
}

static uint8_t type(struct dm *d)
{
	bool plain = false;
	uint8_t t = CXX_NEVER;

	if (!enter(d))
		return t;
	d->quiet++;
	if (*d->p == 'u') {
		d->p++;
		source_name(d);
	} else if (lower(*d->p) && *d->p != 'r') {
		t = builtin(*d->p++);
		plain = true;
	} else if (*d->p == 'D' && !digit(d->p[1])) {
		t = d_type(d, &plain);
	} else if (*d->p == 'S') {
		t = s_type(d, &plain);
	} else if (*d->p == 'T') {
		t = template_param(d);
		if (*d->p == 'I') {
			add_sub(d, t);
			template_args(d);
		}
	} else {
		t = compound(d);
	}
	if (!plain && !d->bad)
		add_sub(d, t);
	d->quiet--;
	d->depth--;
	return t;
}

/* ---- the whole ---- */

/* h <n> _ or v <n> _ <n> _ */
static void call_offset(struct dm *d)
{
	int numbers = *d->p == 'h' ? 1 : *d->p == 'v' ? 2 : 0;

	if (!numbers) {
		give_up(d);
		return;
	}
	d->p++;
	for (; numbers; numbers--) {
		take(d, 'n');
		number(d);
		want(d, '_');
	}
}

static void read_params(struct dm *d, struct cxx_params *params)
{
	bool pack = false;
	int n = 0;

	/* A function template's type begins with its result. */
	if (d->is_template && !d->no_return && !d->quiet)
		type(d);
	while (*d->p && *d->p != 'E' && *d->p != '.' && *d->p != '@' && !d->bad) {
		uint8_t t = CXX_ANY;

		pack |= d->p[0] == 'D' && d->p[1] == 'p';
		if (take(d, 'z'))
			params->variadic = true;
		else
			t = type(d);
		if (t == CT_VOID || params->variadic)
			continue;
		if (n < CXX_PARAMS_MAX)
			params->type[n] = t;
		n++;
	}
	params->n = pack ? -1 : n <= CXX_PARAMS_MAX ? n : CXX_PARAMS_MAX;
}

static void encoding(struct dm *d, struct cxx_params *params)
{
	struct cxx_params none;

	if (!enter(d))
		return;
	if (*d->p == 'T') {
		d->p++;
		d->method = true; /* thunks change it */
		if (take(d, 'c'))
			call_offset(d);
		call_offset(d);
		encoding(d, params);
	} else {
		name(d);
		if (params || d->quiet)
			read_params(d, params ? params : &none);
	}
	d->depth--;
}

int demangle(const char *symbol, char *buf, size_t cap, struct cxx_params *params)
{
	struct dm d = {.p = symbol, .out = buf, .cap = cap};

	if (symbol[0] != '_' || symbol[1] != 'Z' || !cap)
		return -1;
	d.p += 2;
	encoding(&d, NULL);
	if (d.bad || !d.len)
		return -1;
	buf[d.len] = '\0';
	if (params) {
		size_t len = d.len;

		*params = (struct cxx_params){.n = -1, .nested = d.nested, .method = d.method};
		read_params(&d, params);
		if (d.bad || d.len != len || (*d.p && *d.p != '.' && *d.p != '@'))
			params->n = -1;
		return (int)len;
	}
	return (int)d.len;
}
