/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random signatures as C source: for row r a function f<r> that notes what it gets, and a caller c<r> that calls any such
 * function with constants and notes what comes back. The rows describe them as a spec would.
 */
#ifndef TESTS_UNIT_FFI_SIGNATURES_H
#define TESTS_UNIT_FFI_SIGNATURES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"

#define ROWS 400
#define STRUCTS 40
#define MEMBERS 9

static const struct scalar {
	const char *c, *literal; /* literal: a printf format for a random integer */
	bool real;
} scalars[] = {
	[CT_VOID] = {"void", "", false},
	[CT_I8] = {"int8_t", "(int8_t)%lldLL", false},
	[CT_U8] = {"uint8_t", "(uint8_t)%lldLL", false},
	[CT_I16] = {"int16_t", "(int16_t)%lldLL", false},
	[CT_U16] = {"uint16_t", "(uint16_t)%lldLL", false},
	[CT_I32] = {"int32_t", "(int32_t)%lldLL", false},
	[CT_U32] = {"uint32_t", "(uint32_t)%lldLL", false},
	[CT_I64] = {"int64_t", "(int64_t)%lldLL", false},
	[CT_U64] = {"uint64_t", "(uint64_t)%lldLL", false},
	[CT_F32] = {"float", "(float)%lldLL", true},
	[CT_F64] = {"double", "(double)%lldLL", true},
	[CT_P] = {"void *", "(void *)%lldLL", false},
};

static struct {
	struct api_struct s;
	uint8_t member[MEMBERS];
} structs[STRUCTS];

static struct {
	struct api_spec spec;
	struct api_ffi ffi;
	struct api api;
	int arg_struct[API_ARGS_MAX], ret_struct;
} rows[ROWS];

static uint64_t state = 88172645463325252ull;

static unsigned dice(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 20) % n);
}

static void put_literal(FILE *f, uint8_t ctype)
{
	long long v = (long long)(state * 0x9e3779b97f4a7c15ull);

	dice(2);
	/* Reals: exact in a float. */
	fprintf(f, scalars[ctype].literal, scalars[ctype].real ? v % 1000000 : v);
}

static size_t size_of_ctype(uint8_t ct)
{
	return (const size_t[]){0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 8}[ct];
}

static void make_structs(FILE *f)
{
	for (int i = 0; i < STRUCTS; i++) {
		struct api_struct *s = &structs[i].s;
		/* Half of them are of one type, so that there are arrays of floats among them. */
		uint8_t one = dice(2) ? (uint8_t)(CT_I8 + dice(CT_P)) : 0;

		s->n = (uint16_t)(1 + dice(MEMBERS));
		s->member = structs[i].member;
		fprintf(f, "struct S%d {", i);
		for (int k = 0; k < s->n; k++) {
			uint8_t ct = one ? one : (uint8_t)(CT_I8 + dice(CT_P));
			uint16_t size = (uint16_t)size_of_ctype(ct);

			structs[i].member[k] = ct;
			s->size = (uint16_t)((s->size + size - 1) / size * size + size);
			s->align = s->align > size ? s->align : size;
			fprintf(f, " %s m%d;", scalars[ct].c, k);
		}
		s->size = (uint16_t)((s->size + s->align - 1) / s->align * s->align);
		fprintf(f, " };\n_Static_assert(sizeof(struct S%d) == %u, \"\");\n", i, s->size);
	}
}

static void put_type(FILE *f, uint8_t ct, int st)
{
	if (ct == CT_STRUCT)
		fprintf(f, "struct S%d", st);
	else
		fputs(scalars[ct].c, f);
}

static void put_value(FILE *f, uint8_t ct, int st)
{
	if (ct != CT_STRUCT) {
		put_literal(f, ct);
		return;
	}
	fprintf(f, "(struct S%d){", st);
	for (int k = 0; k < structs[st].s.n; k++) {
		put_literal(f, structs[st].member[k]);
		fputs(", ", f);
	}
	fputs("}", f);
}

/* Member by member: padding says nothing. */
static void put_dump(FILE *f, const char *name, uint8_t ct, int st)
{
	if (ct != CT_STRUCT) {
		fprintf(f, "\tput(&%s, sizeof(%s));\n", name, name);
		return;
	}
	for (int k = 0; k < structs[st].s.n; k++)
		fprintf(f, "\tput(&%s.m%d, sizeof(%s.m%d));\n", name, k, name, k);
}

static uint8_t random_type(int *st, struct api_struct const **members)
{
	uint8_t ct = (uint8_t)(CT_I8 + dice(CT_STRUCT));

	*st = (int)dice(STRUCTS);
	*members = ct == CT_STRUCT ? &structs[*st].s : NULL;
	return ct;
}

static void params(FILE *f, int r, bool names)
{
	const struct api_spec *s = &rows[r].spec;

	for (int i = 0; i < s->nargs; i++) {
		fputs(i ? ", " : "", f);
		put_type(f, s->args[i].ctype, rows[r].arg_struct[i]);
		if (names)
			fprintf(f, " a%d", i);
	}
	if (!s->nargs)
		fputs("void", f);
}

static void make_signature_row(FILE *f, int r)
{
	static const struct adapter lib = {.name = "test", .success = {7}, .nsuccess = 1};
	struct api_spec *s = &rows[r].spec;
	struct api_ffi *x = &rows[r].ffi;
	char name[16];
	uint8_t ret;

	*s = (struct api_spec){.symbol = "f", .lib = &lib, .ffi = x};
	rows[r].api.spec = s;
	s->nargs = (uint8_t)dice(API_ARGS_MAX + 1);
	ret = dice(8) ? random_type(&rows[r].ret_struct, &x->ret_struct) : CT_VOID;
	x->ret = ret;
	x->code = ret >= CT_I8 && ret <= CT_U64;
	for (int i = 0; i < s->nargs; i++)
		s->args[i].ctype = random_type(&rows[r].arg_struct[i], &x->arg[i]);

	/* The function. */
	put_type(f, ret, rows[r].ret_struct);
	fprintf(f, " f%d(", r);
	params(f, r, true);
	fprintf(f, ")\n{\n\tn = 0;\n");
	for (int i = 0; i < s->nargs; i++) {
		sprintf(name, "a%d", i);
		put_dump(f, name, s->args[i].ctype, rows[r].arg_struct[i]);
	}
	if (ret != CT_VOID) {
		fputs("\treturn ", f);
		put_value(f, ret, rows[r].ret_struct);
		fputs(";\n", f);
	}
	/* Its caller, with the arguments as constants. */
	fprintf(f, "}\nvoid c%d(void *fn, int64_t *v, const void **p)\n{\n", r);
	for (int i = 0; i < s->nargs; i++) {
		fputs("\tstatic const ", f);
		put_type(f, s->args[i].ctype, rows[r].arg_struct[i]);
		fprintf(f, " a%d = ", i);
		put_value(f, s->args[i].ctype, rows[r].arg_struct[i]);
		fprintf(f, ";\n\tp[%d] = &a%d;\n", i, i);
		if (s->args[i].ctype == CT_F32 || s->args[i].ctype == CT_F64)
			fprintf(f, "\t*(double *)(v + %d) = a%d;\n", i, i);
		else if (s->args[i].ctype != CT_STRUCT)
			fprintf(f, "\tv[%d] = (int64_t)a%d;\n", i, i);
	}
	fputc('\t', f);
	if (ret != CT_VOID) {
		put_type(f, ret, rows[r].ret_struct);
		fputs(" r = ", f);
	}
	fputs("((", f);
	put_type(f, ret, rows[r].ret_struct);
	fputs(" (*)(", f);
	params(f, r, false);
	fputs("))fn)(", f);
	for (int i = 0; i < s->nargs; i++)
		fprintf(f, "%sa%d", i ? ", " : "", i);
	fputs(");\n", f);
	if (ret != CT_VOID)
		put_dump(f, "r", ret, rows[r].ret_struct);
	fputs("}\n", f);
}

static const void *arg_at[API_ARGS_MAX];

static bool compare_struct(int row, int arg, const void *p)
{
	const struct api_struct *s = rows[row].ffi.arg[arg];
	size_t at = 0;

	for (int k = 0; k < s->n; k++) {
		size_t size = size_of_ctype(s->member[k]);

		at = (at + size - 1) / size * size;
		if (memcmp((const char *)arg_at[arg] + at, (const char *)p + at, size))
			return false;
		at += size;
	}
	return true;
}

#endif
