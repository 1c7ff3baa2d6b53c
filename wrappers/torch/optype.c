/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/torch/optype.h"

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

static void append(struct reader *r, char *to, const char *s, size_t n)
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

static bool take(struct reader *r, char c)
{
	if (*r->p != c)
		return false;
	r->p++;
	return true;
}

static unsigned number(struct reader *r)
{
	unsigned n = 0;

	while (*r->p >= '0' && *r->p <= '9' && n < 1000)
		n = n * 10 + (unsigned)(*r->p++ - '0');
	return n;
}

static void source_name(struct reader *r, char *to)
{
	unsigned n = number(r);

	if (!n || memchr(r->p, 0, n)) {
		r->bad = true;
		return;
	}
	append(r, to, r->p, n);
	r->p += n;
}

static void type(struct reader *r, char *to);

/* I <type>... E; numbers of arrays as Lm3E */
static void arguments(struct reader *r, char *to)
{
	bool first = true;

	append(r, to, "<", 1);
	while (*r->p != 'E' && *r->p && !r->bad) {
		if (!first)
			append(r, to, ",", 1);
		first = false;
		if (take(r, 'L')) {
			char digits[16] = "";

			r->p++;
			append(r, digits, "", 0);
			while (*r->p >= '0' && *r->p <= '9' && strlen(digits) < 8)
				strncat(digits, r->p++, 1);
			append(r, to, digits, strlen(digits));
			r->bad |= !take(r, 'E');
		} else {
			char one[TEXT_MAX] = "";

			type(r, one);
			append(r, to, one, strlen(one));
		}
	}
	r->bad |= !take(r, 'E');
	append(r, to, ">", 1);
}

/* S_, S0_ ... SZ_: the text; false: it is another S. */
static bool substitution(struct reader *r, char *to)
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
		append(r, to, r->sub[n], strlen(r->sub[n]));
	return true;
}

/* N <prefix>... E */
static void nested(struct reader *r, char *to)
{
	while (*r->p != 'E' && *r->p && !r->bad) {
		if (*r->p == 'S' && r->p[1] == 't') {
			r->p += 2;
			append(r, to, "std", 3);
			continue;
		}
		if (*r->p == 'S') {
			r->bad |= !substitution(r, to);
			continue;
		}
		if (take(r, 'I')) {
			arguments(r, to);
		} else {
			if (*to)
				append(r, to, "::", 2);
			source_name(r, to);
		}
		if (*r->p != 'E')
			add_sub(r, to);
	}
	r->bad |= !take(r, 'E');
	add_sub(r, to);
}

static void builtin(struct reader *r, char *to)
{
	static const struct {
		char c;
		const char *name;
	} known[] = {{'l', "long"}, {'d', "double"}, {'b', "bool"}, {'i', "int"}, {'a', "int8"},
		{'h', "uint8"}, {'c', "char"}, {'m', "ulong"}, {'v', "void"}};

	for (unsigned i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].c == *r->p) {
			r->p++;
			append(r, to, known[i].name, strlen(known[i].name));
			return;
		}
	r->bad = true;
}

static void type(struct reader *r, char *to)
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

		type(r, of);
		append(r, to, of, strlen(of));
		append(r, to,
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
		nested(r, to);
		break;
	case 'S':
		if (r->p[1] == 't') { /* std::name, perhaps with arguments */
			r->p += 2;
			append(r, to, "std::", 5);
			source_name(r, to);
			add_sub(r, to);
		} else if (!substitution(r, to)) {
			r->bad = true;
			break;
		}
		if (*r->p == 'I') {
			r->p++;
			arguments(r, to);
			add_sub(r, to);
		}
		break;
	default:
		builtin(r, to);
	}
	r->depth--;
}

/* ---- what the types are ---- */

static const uint8_t two_words[] = {CT_U64, CT_U64}, list[] = {CT_P, CT_U64},
		     list_opt[] = {CT_P, CT_U64, CT_U8}, opt_byte[] = {CT_U8, CT_U8},
		     opt_device[] = {CT_I8, CT_I8, CT_U8}, opt_long[] = {CT_U64, CT_U8},
		     opt_double[] = {CT_F64, CT_U8}, three_bytes[] = {CT_U8, CT_U8, CT_U8},
		     four_bytes[] = {CT_U8, CT_U8, CT_U8, CT_U8};
static const struct api_struct s_list = {16, 8, 2, list}, s_list_opt = {24, 8, 3, list_opt},
			       s_opt_byte = {2, 1, 2, opt_byte},
			       s_opt_device = {3, 1, 3, opt_device},
			       s_opt_long = {16, 8, 2, opt_long},
			       s_opt_double = {16, 8, 2, opt_double},
			       s_three = {3, 1, 3, three_bytes}, s_four = {4, 1, 4, four_bytes},
			       s_words = {16, 8, 2, two_words};

struct known {
	const char *name; /* ends with *: the beginning */
	uint8_t ctype, arg;
	const struct api_struct *members;
};

static const struct known known_types[] = {
	{"at::Tensor const&", CT_P, OP_TENSOR, NULL},
	{"at::Tensor&", CT_P, OP_TENSOR_OUT, NULL},
	{"std::optional<at::Tensor> const&", CT_P, OP_OPTIONAL, NULL},
	{"c10::ArrayRef<at::Tensor>", CT_STRUCT, OP_LIST, &s_list},
	{"c10::IListRef<at::Tensor> const&", CT_P, OP_ILIST, NULL},
	{"c10::List<std::optional<at::Tensor>> const&", CT_P, OP_OPTIONAL_LIST, NULL},
	{"long", CT_I64, OP_PLAIN, NULL},
	{"double", CT_F64, OP_PLAIN, NULL},
	{"bool", CT_U8, OP_PLAIN, NULL},
	{"int8", CT_I8, OP_PLAIN, NULL},
	{"c10::Stream", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::DispatchKeySet", CT_U64, OP_PLAIN, NULL},
	{"c10::ScalarType", CT_I8, OP_PLAIN, NULL},
	{"c10::Layout", CT_I8, OP_PLAIN, NULL},
	{"c10::MemoryFormat", CT_I8, OP_PLAIN, NULL},
	{"c10::Device", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<bool>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::ScalarType>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::Layout>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::MemoryFormat>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::optional<c10::Device>", CT_STRUCT, OP_PLAIN, &s_opt_device},
	{"std::optional<long>", CT_STRUCT, OP_PLAIN, &s_opt_long},
	{"std::optional<double>", CT_STRUCT, OP_PLAIN, &s_opt_double},
	{"c10::OptionalArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list_opt},
	{"std::optional<c10::ArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list_opt},
	{"std::optional<std::basic_string_view<*", CT_STRUCT, OP_PLAIN, &s_list_opt},
	{"c10::ArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list},
	{"std::basic_string_view<*", CT_STRUCT, OP_PLAIN, &s_words},
	{"std::array<bool,2>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"std::array<bool,3>", CT_STRUCT, OP_PLAIN, &s_three},
	{"std::array<bool,4>", CT_STRUCT, OP_PLAIN, &s_four},
	/* Objects with a destructor go as a pointer to the caller's. */
	{"c10::SymInt", CT_P, OP_PLAIN, NULL},
	{"std::optional<c10::SymInt>", CT_P, OP_PLAIN, NULL},
	{"std::optional<at::Generator>", CT_P, OP_PLAIN, NULL},
	{"c10::Storage", CT_P, OP_PLAIN, NULL},
	{"at::Storage", CT_P, OP_PLAIN, NULL},
};

/*
 * 1.13 had its own c10::optional (c10/util/Optional.h): whether there is a value comes first, and the value lies in a union
 * with a byte. So an optional double goes in general registers, not in one for floating point: the System V ABI merges the
 * classes of a union's members. That of an array has no flag, but a length of its own for none. A text in an optional
 * has copy constructors that somebody wrote, so it goes as a pointer. As g++ 12 compiles the headers, and libtorch_cpu reads it.
 */
static const struct known types_1_13[] = {
	{"c10::optional<at::Tensor> const&", CT_P, OP_OPTIONAL_1_13, NULL},
	{"c10::List<c10::optional<at::Tensor>> const&", CT_P, OP_OPTIONAL_LIST, NULL},
	{"c10::optional<bool>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::ScalarType>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::Layout>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::MemoryFormat>", CT_STRUCT, OP_PLAIN, &s_opt_byte},
	{"c10::optional<c10::Device>", CT_STRUCT, OP_PLAIN, &s_opt_device},
	{"c10::optional<long>", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::optional<double>", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::OptionalArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list},
	{"c10::optional<c10::ArrayRef<*", CT_STRUCT, OP_PLAIN, &s_list},
	{"c10::basic_string_view<char>", CT_STRUCT, OP_PLAIN, &s_words},
	{"c10::optional<c10::basic_string_view<char>>", CT_P, OP_PLAIN, NULL},
	{"c10::optional<c10::SymInt>", CT_P, OP_PLAIN, NULL},
	{"c10::optional<at::Generator>", CT_P, OP_PLAIN, NULL},
};

static const struct known *find_in(const struct known *k, size_t count, const char *text)
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

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct known *find(const char *text, bool is_1_13)
{
	static const struct known reference = {"&", CT_P, OP_PLAIN, NULL};
	size_t len = strlen(text);
	const struct known *k = is_1_13 ? find_in(types_1_13, COUNT(types_1_13), text) : NULL;

	if (!k)
		k = find_in(known_types, COUNT(known_types), text);
	return k ? k : len && text[len - 1] == '&' ? &reference : NULL;
}

bool op_params(const char *symbol, bool is_1_13, struct op_type *t)
{
	struct reader r = {.p = symbol};
	char text[TEXT_MAX] = "";

	t->nargs = 0;
	if (strncmp(symbol, "_ZN2at4_ops", 11) != 0)
		return false;
	/* The function's own name fills the table of substitutions, too; its last part does not. */
	r.p = symbol + 3;
	for (unsigned parts = 0; *r.p != 'E' && *r.p && !r.bad; parts++) {
		if (*text)
			append(&r, text, "::", 2);
		source_name(&r, text);
		if (*r.p != 'E')
			add_sub(&r, text);
		if (parts > 3)
			return false;
	}
	if (r.bad || !take(&r, 'E'))
		return false;
	if (strcmp(r.p, "v") == 0)
		return true;
	while (*r.p && *r.p != '.' && *r.p != '@') {
		const struct known *k;

		text[0] = 0;
		r.depth = 0;
		type(&r, text);
		k = r.bad ? NULL : find(text, is_1_13);
		if (!k || t->nargs == API_ARGS_MAX)
			return false;
		t->ctype[t->nargs] = k->ctype;
		t->arg[t->nargs] = k->arg;
		t->members[t->nargs++] = k->members;
	}
	return true;
}

/* ---- results ---- */

static bool is(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

/* One result; names of results and aliasing marks do not matter here. */
static bool tensor_result(const char *s, size_t n, bool *written, bool *listed)
{
	if (n < 6 || memcmp(s, "Tensor", 6) != 0)
		return false;
	*written = memchr(s, '!', n) != NULL;
	*listed = n >= 2 && s[n - 2] == '[' && s[n - 1] == ']';
	return s[6] != '?';
}

bool op_result_of(const char *schema, struct op_type *t)
{
	const char *s = strstr(schema, ") -> ");
	bool written = false, listed = false, all = true, any = false;
	size_t n;

	if (!s)
		return false;
	s += 5;
	n = strlen(s);
	t->ret = CT_VOID;
	t->hidden = false;
	t->result = OP_NOTHING;
	t->nresult = 0;
	if (is(s, n, "()"))
		return true;
	if (*s != '(' && tensor_result(s, n, &written, &listed)) {
		t->hidden = listed || !written;
		t->ret = t->hidden ? CT_VOID : CT_P;
		t->result = listed ? OP_NEW_LIST : written ? OP_REFERENCE : OP_NEW;
		t->nresult = 1;
		return true;
	}
	if (*s != '(') {
		static const struct {
			const char *name;
			uint8_t ret; /* CT_STRUCT: an object */
		} others[] = {{"bool", CT_U8}, {"int", CT_I64}, {"float", CT_F64},
			{"Scalar", CT_STRUCT}, {"SymInt", CT_STRUCT}, {"SymInt[]", CT_STRUCT},
			{"ScalarType", CT_I8}, {"QScheme", CT_U8}};

		for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
			if (is(s, n, others[i].name)) {
				t->hidden = others[i].ret == CT_STRUCT;
				t->ret = t->hidden ? CT_VOID : others[i].ret;
				return true;
			}
		return false;
	}
	/* A tuple: always an object. Only those that are all tensors are looked into. */
	t->hidden = true;
	for (s++; *s;) {
		int depth = 0;
		const char *e = s, *blank = NULL;

		for (; *e && (depth || (*e != ',' && *e != ')')); e++) {
			depth += *e == '(' ? 1 : *e == ')' ? -1 : 0;
			if (!depth && *e == ' ' && !blank)
				blank = e;
		}
		all &= tensor_result(s, (size_t)((blank ? blank : e) - s), &written, &listed) &&
		       !listed;
		any |= written;
		t->nresult++;
		if (*e != ',')
			break;
		for (s = e + 1; *s == ' '; s++)
			;
	}
	t->result = !all ? OP_NOTHING : any ? OP_TUPLE_REFERENCE : OP_TUPLE;
	return true;
}
