/* SPDX-License-Identifier: Apache-2.0 */
/* Reads C prototypes whose parameter names are roles. */
#include <ctype.h>
#include <string.h>

#include "terms/dtype.h"
#include "spec/spec.h"

/*
 * Names of C scalars, LP64. Words of a type are sorted in their usual order: "unsigned long", not
 * "long unsigned".
 */
static const struct scalar {
	char name[20];
	uint8_t ctype;
} scalars[] = {
	{"void", CT_VOID},
	{"char", CT_I8},
	{"signed char", CT_I8},
	{"unsigned char", CT_U8},
	{"bool", CT_U8},
	{"_Bool", CT_U8},
	{"short", CT_I16},
	{"unsigned short", CT_U16},
	{"int", CT_I32},
	{"unsigned", CT_U32},
	{"unsigned int", CT_U32},
	{"long", CT_I64},
	{"unsigned long", CT_U64},
	{"long long", CT_I64},
	{"unsigned long long", CT_U64},
	{"float", CT_F32},
	{"double", CT_F64},
	{"int8_t", CT_I8},
	{"uint8_t", CT_U8},
	{"int16_t", CT_I16},
	{"uint16_t", CT_U16},
	{"int32_t", CT_I32},
	{"uint32_t", CT_U32},
	{"int64_t", CT_I64},
	{"uint64_t", CT_U64},
	{"size_t", CT_U64},
	{"ssize_t", CT_I64},
	{"intptr_t", CT_I64},
	{"uintptr_t", CT_U64},
	{"ptrdiff_t", CT_I64},
};

static const char *const qualifiers[] = {"const", "volatile", "restrict", "struct", "enum", NULL};
static const char *const type_words[] = {
	"signed", "unsigned", "short", "long", "char", "int", NULL};

struct text {
	struct spec_load *l;
	const struct node *node;
	const struct type_names *types;
	const char *p; /* next character */
};

static struct pos get_signature_position(const struct text *t)
{
	return node_column(t->node, (size_t)(t->p - t->node->text));
}

static void read_past_blanks(struct text *t)
{
	while (isspace((unsigned char)*t->p))
		t->p++;
}

/* Reads the character c, if it is the next one. */
static bool read_char(struct text *t, char c)
{
	read_past_blanks(t);
	if (*t->p != c)
		return false;
	t->p++;
	return true;
}

static bool is_word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

/* Returns the length of <...> at s, 0 if it is not closed. */
static size_t get_template_length(const char *s)
{
	size_t depth = 0, n = 0;

	do {
		depth += s[n] == '<';
		depth -= s[n] == '>';
		n++;
	} while (s[n - 1] && depth);
	return depth ? 0 : n;
}

/*
 * Returns the length of the next word, 0: none. In a user's file it may be a C++ name:
 * ns::vec<float>.
 */
static size_t get_word_length(struct text *t)
{
	size_t n = 0;

	read_past_blanks(t);
	if (!is_word_start(*t->p))
		return 0;
	for (;;) {
		while (isalnum((unsigned char)t->p[n]) || t->p[n] == '_')
			n++;
		if (t->l->run_time && t->p[n] == '<' && get_template_length(t->p + n))
			n += get_template_length(t->p + n);
		else if (t->l->run_time && t->p[n] == ':' && t->p[n + 1] == ':' &&
			 is_word_start(t->p[n + 2]))
			n += 2;
		else
			return n;
	}
}

static unsigned get_ctype_bytes(uint8_t ctype)
{
	switch (ctype) {
	case CT_I32:
	case CT_U32:
		return 4;
	case CT_I64:
	case CT_U64:
		return 8;
	default:
		return 0;
	}
}

static bool find_type(const struct text *t, const char *name, struct type_name *found)
{
	const char *plain = t->l->run_time && strncmp(name, "std::", 5) == 0 ? name + 5 : name;

	for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++) {
		if (strcmp(scalars[i].name, plain) == 0) {
			*found = (struct type_name){
				.name = scalars[i].name, .ctype = scalars[i].ctype};
			return true;
		}
	}
	for (unsigned i = 0; i < t->types->n; i++) {
		if (strcmp(t->types->item[i].name, name) == 0) {
			*found = t->types->item[i];
			return true;
		}
	}
	return false;
}

/* Reads "const unsigned long": the spelling includes qualifiers, the name does not. */
static bool read_base(struct text *t, const char **spelling, struct type_name *base, bool *is_const)
{
	const char *name = "", *spelled = "";
	struct pos at;
	bool plain = false;

	read_past_blanks(t);
	at = get_signature_position(t);
	for (size_t n; (n = get_word_length(t)) > 0; t->p += n) {
		if (name_find(qualifiers, 0, t->p, n) >= 0) {
			*is_const |= n == 5 && memcmp(t->p, "const", 5) == 0;
		} else {
			bool part = name_find(type_words, 0, t->p, n) >= 0;

			if (*name && (plain || !part))
				break; /* the parameter's name */
			plain = !part;
			if (!*name)
				at = get_signature_position(t);
			name = load_print(t->l, "%s%s%.*s", name, *name ? " " : "", (int)n, t->p);
		}
		spelled = load_print(t->l, "%s%s%.*s", spelled, *spelled ? " " : "", (int)n, t->p);
	}
	if (!*name) {
		load_fail(t->l, at, "a type is missing here");
		return false;
	}
	if (!find_type(t, name, base)) {
		load_fail(t->l, at, "unknown type '%s'; name it in 'types'", name);
		return false;
	}
	*spelling = spelled;
	return true;
}

/* Returns the enum dtype of the elements that a pointer of this type points to. */
static uint8_t get_pointee_dtype(const struct type_name *base)
{
	static const uint8_t of[] = {
		[CT_I8] = DT_INT8,
		[CT_U8] = DT_UINT8,
		[CT_I16] = DT_INT16,
		[CT_U16] = DT_UINT16,
		[CT_I32] = DT_INT32,
		[CT_U32] = DT_UINT32,
		[CT_I64] = DT_INT64,
		[CT_U64] = DT_UINT64,
		[CT_F32] = DT_FLOAT32,
		[CT_F64] = DT_FLOAT64,
	};

	if (base->dtype || base->handle || base->ctype >= sizeof(of))
		return base->dtype;
	if (strcmp(base->name, "bool") == 0 || strcmp(base->name, "_Bool") == 0)
		return DT_BOOL;
	return of[base->ctype];
}

static bool set_type_result(const struct text *t, struct pos at, const struct type_name *base,
	const char *spelling, unsigned depth, bool is_const, struct type *out)
{
	*out = (struct type){.spelling = spelling};
	if (depth == 0 && base->ctype == CT_VOID && strcmp(base->name, "void") != 0 &&
		!base->object) {
		load_fail(t->l, at, "type '%s' is opaque: only a pointer to it can be passed",
			base->name);
		return false;
	}
	if (depth == 0) {
		out->ctype = base->ctype;
		out->words = base->words;
		out->members = base->members;
		out->handle = base->handle;
		out->object = base->object;
		return true;
	}
	out->ctype = CT_P;
	if (depth == 1) {
		out->elem_bytes = base->handle ? 0 : (uint8_t)get_ctype_bytes(base->ctype);
		out->dtype = get_pointee_dtype(base);
		out->points_const = is_const;
		out->points_handle = base->handle || base->ctype == CT_P;
		out->points_void = strcmp(base->name, "void") == 0;
	}
	/* An array of matrices: its dtype is that of the matrices' elements. */
	if (depth == 2) {
		out->dtype = get_pointee_dtype(base);
		out->points_pointer = true;
	}
	return true;
}

/*
 * *fixed: the pointer points to a const pointer. A pointer to const is passed like any other
 * pointer.
 */
static void add_pointer(struct text *t, const char **spelling, unsigned *depth, bool *fixed)
{
	*spelling = load_print(t->l, "%s%s*", *spelling, *fixed ? "const " : *depth ? "" : " ");
	*fixed = false;
	++*depth;
}

/* Reads type, pointers, the name if there is one, and []. */
static bool read_declarator(struct text *t, struct type *type, const char **name, struct pos *at)
{
	const char *spelling;
	struct type_name base;
	unsigned depth = 0;
	bool is_const = false, fixed = false;
	struct pos begin;
	size_t n;

	read_past_blanks(t);
	begin = get_signature_position(t);
	if (!read_base(t, &spelling, &base, &is_const))
		return false;
	for (;;) {
		if (read_char(t, '*') || (t->l->run_time && read_char(t, '&'))) {
			add_pointer(t, &spelling, &depth, &fixed);
		} else if ((n = get_word_length(t)) > 0 && name_find(qualifiers, 0, t->p, n) >= 0) {
			fixed |= n == 5 && memcmp(t->p, "const", 5) == 0;
			t->p += n;
		} else {
			break;
		}
	}
	*at = get_signature_position(t);
	*name = load_text(t->l, t->p, get_word_length(t));
	t->p += strlen(*name);
	while (read_char(t, '[')) {
		while (isdigit((unsigned char)*t->p))
			t->p++;
		if (!read_char(t, ']')) {
			load_fail(t->l, get_signature_position(t), "expected ]");
			return false;
		}
		add_pointer(t, &spelling, &depth, &fixed);
	}
	return set_type_result(t, begin, &base, spelling, depth, is_const, type);
}

struct param *params_role(struct params *args, uint8_t role)
{
	for (unsigned i = 0; i < args->n; i++)
		if (args->item[i].role == role)
			return &args->item[i];
	return NULL;
}

bool params_add(struct spec_load *l, struct params *args, const struct param *p)
{
	if (args->n == API_ARGS_MAX) {
		load_fail(l, p->at, "more than %d parameters", API_ARGS_MAX);
		return false;
	}
	if (p->role != ROLE_NONE && params_role(args, p->role)) {
		load_fail(l, p->at, "role '%s' is here a second time", p->name);
		return false;
	}
	args->item[args->n++] = *p;
	return true;
}

static bool read_param(struct text *t, struct params *args)
{
	struct param p = {.role = ROLE_NONE};

	read_past_blanks(t);
	if (strncmp(t->p, "...", 3) == 0) {
		load_fail(t->l, get_signature_position(t),
			"functions with variable arguments (...) cannot be wrapped: it is not "
			"known what a call passes");
		return false;
	}
	if (!read_declarator(t, &p.type, &p.name, &p.at))
		return false;
	if (!*p.name) {
		load_fail(
			t->l, p.at, "the parameter has no name; names are roles, or begin with _");
		return false;
	}
	if (*p.name != '_') {
		int role = name_find(role_name, ROLE_NROLES, p.name, strlen(p.name));

		if (role < 0) {
			load_fail(t->l, p.at,
				"unknown role '%s'; known are %s; a name that is no role begins "
				"with _",
				p.name, name_list(t->l, role_name, ROLE_NROLES));
			return false;
		}
		p.role = (uint8_t)role;
	}
	if (p.type.object) {
		/* The struct is passed as the address of a separate copy in memory. */
		p.type.ctype = CT_P;
		p.type.object = false;
	}
	if (p.type.ctype == CT_VOID) {
		load_fail(t->l, p.at, "parameter '%s' has type void", p.name);
		return false;
	}
	return params_add(t->l, args, &p);
}

/* Reads parameters up to the character `end` (or the end of the text). */
static bool read_signature_params(struct text *t, struct params *args, char end)
{
	struct text back;

	read_past_blanks(t);
	back = *t;
	if (*t->p == end)
		return true;
	if (get_word_length(t) == 4 && strncmp(t->p, "void", 4) == 0) {
		t->p += 4;
		read_past_blanks(t);
		if (*t->p == end || !*t->p)
			return true;
		*t = back;
	}
	do {
		if (!read_param(t, args))
			return false;
	} while (read_char(t, ','));
	return true;
}

static bool check_text_end(struct text *t)
{
	read_past_blanks(t);
	if (!*t->p)
		return true;
	load_fail(t->l, get_signature_position(t), "unexpected '%s'", t->p);
	return false;
}

bool sig_read(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct type *ret, struct params *args)
{
	struct text t = {l, n, types, node_text(l, n, "")};
	const char *name;
	struct pos at;

	if (!read_declarator(&t, ret, &name, &at))
		return false;
	if (*name) {
		load_fail(
			l, at, "'%s': a signature has no function name: \"int (int count)\"", name);
		return false;
	}
	if (!l->run_time && ret->ctype == CT_STRUCT) {
		load_fail(l, n->at,
			"result type '%s' is not supported; integers, pointers, handles, float, "
			"double and void are",
			ret->spelling);
		return false;
	}
	if (!read_char(&t, '(')) {
		load_fail(l, get_signature_position(&t), "expected ( and the parameters");
		return false;
	}
	if (!read_signature_params(&t, args, ')'))
		return false;
	if (!read_char(&t, ')')) {
		load_fail(l, get_signature_position(&t), "expected , or )");
		return false;
	}
	return check_text_end(&t);
}

bool sig_read_params(struct spec_load *l, const struct node *n, const struct type_names *types,
	struct params *args)
{
	struct text t = {l, n, types, node_text(l, n, "")};

	return read_signature_params(&t, args, '\0') && check_text_end(&t);
}

bool sig_read_type(
	struct spec_load *l, const struct node *n, const struct type_names *types, struct type *out)
{
	struct text t = {l, n, types, node_text(l, n, "")};
	const char *name;
	struct pos at;

	if (!read_declarator(&t, out, &name, &at))
		return false;
	if (*name) {
		load_fail(l, at, "unexpected '%s' after the type", name);
		return false;
	}
	return check_text_end(&t);
}
