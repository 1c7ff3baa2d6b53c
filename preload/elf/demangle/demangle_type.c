/* SPDX-License-Identifier: Apache-2.0 */
/* Types and template arguments in mangled names: only how each is passed. */
#include "elf/demangle/demangle_read.h"

/* ---- template arguments ---- */

static uint8_t read_template_arg(struct dm *d)
{
	if (dm_match(d, 'L')) {
		if (*d->p == '_')
			stop_demangling(d); /* the argument is the address of something */
		dm_read_type(d);
		while (*d->p && *d->p != 'E')
			d->p++;
		dm_match_required(d, 'E');
		return CXX_ANY;
	}
	if (dm_match(d, 'J')) {
		while (!d->bad && !dm_match(d, 'E'))
			read_template_arg(d);
		return CXX_ANY;
	}
	return dm_read_type(d);
}

void dm_read_template_args(struct dm *d)
{
	bool outermost = !d->quiet;
	uint8_t arg[TARGS_MAX];
	unsigned n = 0;

	dm_match_required(d, 'I');
	d->quiet++;
	while (!d->bad && !dm_match(d, 'E')) {
		uint8_t t = read_template_arg(d);

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

uint8_t dm_read_template_param(struct dm *d)
{
	size_t i;

	dm_match_required(d, 'T');
	i = dm_read_seq_id(d);
	return i < d->ntarg ? d->targ[i] : CXX_ANY;
}

/* ---- types ---- */

static uint8_t dm_get_builtin_type(char c)
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

static void read_function_type(struct dm *d)
{
	dm_match_required(d, 'F');
	dm_match(d, 'Y');
	while (!d->bad && !dm_match(d, 'E'))
		if ((*d->p == 'R' || *d->p == 'O') && d->p[1] == 'E')
			d->p++;
		else
			dm_read_type(d);
}

/* Reads types that begin with D. *plain: a later substitution cannot refer to the type. */
static uint8_t read_d_type(struct dm *d, bool *plain)
{
	char c = d->p[1];

	*plain = true;
	if (dm_match_two(d, "Dn"))
		return CT_P;
	if (dm_match_two(d, "Di"))
		return CT_U32;
	if (dm_match_two(d, "Ds"))
		return CT_U16;
	if (dm_match_two(d, "Du"))
		return CT_U8;
	if (c && strchr("defhac", c)) {
		d->p += 2;
		return CXX_NEVER;
	}
	if (dm_match_two(d, "DF")) {
		dm_read_number(d);
		if (!dm_match(d, '_') && !dm_match(d, 'b'))
			dm_match(d, 'x');
		return CXX_NEVER;
	}
	*plain = false;
	if (dm_match_two(d, "Dp")) {
		dm_read_type(d);
		return CXX_ANY;
	}
	if (dm_match_two(d, "Dv") && dm_is_digit(*d->p)) {
		dm_read_number(d);
		dm_match_required(d, '_');
		dm_read_type(d);
		return CXX_NEVER;
	}
	if (dm_match_two(d, "Do")) {
		read_function_type(d);
		return CXX_NEVER;
	}
	stop_demangling(d);
	return CXX_NEVER;
}

/* Reads a type that begins with S. *plain: the table of substitutions has it already. */
static uint8_t read_s_type(struct dm *d, bool *plain)
{
	char c = d->p[1];
	uint8_t t = CXX_CLASS;

	if (c == '_' || dm_is_digit(c) || dm_is_upper(c)) {
		t = dm_read_substitution(d);
		*plain = *d->p != 'I';
		if (!*plain) {
			dm_read_template_args(d);
			t = CXX_CLASS;
		}
		return t;
	}
	*plain = c != 't';
	dm_read_name(d);
	if (!d->bad && d->p[-1] == 'E')
		*plain = false; /* Sa with arguments */
	return t;
}

/* Reads a type that begins with letters for qualifiers, pointers ... */
static uint8_t dm_read_compound_type(struct dm *d)
{
	char c = *d->p;

	switch (c) {
	case 'P':
	case 'R':
	case 'O':
		d->p++;
		dm_read_type(d);
		return CT_P;
	case 'r':
	case 'V':
	case 'K':
		while (*d->p == 'r' || *d->p == 'V' || *d->p == 'K')
			d->p++;
		return dm_read_type(d);
	case 'F':
		read_function_type(d);
		return CXX_NEVER;
	case 'A':
		d->p++;
		dm_read_number(d);
		dm_match_required(d, '_');
		dm_read_type(d);
		return CXX_NEVER;
	case 'M':
		d->p++;
		dm_read_type(d);
		dm_read_type(d);
		return CXX_ANY;
	case 'C':
	case 'G':
		d->p++;
		dm_read_type(d);
		return CXX_NEVER;
	case 'U':
		d->p++;
		dm_read_source_name(d);
		if (*d->p == 'I')
			dm_read_template_args(d);
		return dm_read_type(d);
	default:
		dm_read_name(d);
		return CXX_CLASS;
	}
}

uint8_t dm_read_type(struct dm *d)
{
	bool plain = false;
	uint8_t t = CXX_NEVER;

	if (!dm_open_level(d))
		return t;
	d->quiet++;
	if (*d->p == 'u') {
		d->p++;
		dm_read_source_name(d);
	} else if (dm_is_lower(*d->p) && *d->p != 'r') {
		t = dm_get_builtin_type(*d->p++);
		plain = true;
	} else if (*d->p == 'D' && !dm_is_digit(d->p[1])) {
		t = read_d_type(d, &plain);
	} else if (*d->p == 'S') {
		t = read_s_type(d, &plain);
	} else if (*d->p == 'T') {
		t = dm_read_template_param(d);
		if (*d->p == 'I') {
			dm_add_sub(d, t);
			dm_read_template_args(d);
		}
	} else {
		t = dm_read_compound_type(d);
	}
	if (!plain && !d->bad)
		dm_add_sub(d, t);
	d->quiet--;
	d->depth--;
	return t;
}
