/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recursive descent parser for https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling. Only the outermost name is
 * written; of types only the way they are passed is kept, for parameters and for the table of substitutions, because S1_ may
 * refer to any earlier type.
 */
#include "elf/demangle/demangle_read.h"

static void read_encoding(struct dm *d, struct cxx_params *params);

static void put_demangled(struct dm *d, const char *s, size_t n)
{
	if (d->quiet || d->bad)
		return;
	if (n >= d->cap - d->len) {
		stop_demangling(d);
		return;
	}
	memcpy(d->out + d->len, s, n);
	d->len += n;
}

/* Appends a component of the outermost name. */
static void write_component(struct dm *d, const char *mark, const char *s, size_t n)
{
	if (d->quiet)
		return;
	if (d->len)
		put_demangled(d, "::", 2);
	put_demangled(d, mark, strlen(mark));
	d->last = d->len;
	d->last_len = n;
	put_demangled(d, s, n);
	d->is_template = d->no_return = false;
}

void dm_add_sub(struct dm *d, uint8_t t)
{
	if (d->nsub == SUBS_MAX)
		stop_demangling(d);
	else
		d->sub[d->nsub++] = t;
}

/* Reads [0-9A-Z]* _ : a number in base 36, plus 1; without digits 0. */
size_t dm_read_seq_id(struct dm *d)
{
	size_t v = 0;

	if (dm_match(d, '_'))
		return 0;
	for (int i = 0; i < 4 && (dm_is_digit(*d->p) || dm_is_upper(*d->p)); i++, d->p++)
		v = v * 36 + (size_t)(dm_is_digit(*d->p) ? *d->p - '0' : *d->p - 'A' + 10);
	dm_match_required(d, '_');
	return v + 1;
}

void dm_read_source_name(struct dm *d)
{
	size_t n = dm_read_number(d);

	if (!n || strnlen(d->p, n) < n) {
		stop_demangling(d);
		return;
	}
	if (n >= 10 && memcmp(d->p, "_GLOBAL_", 8) == 0 && strchr("._$", d->p[8]) && d->p[9] == 'N')
		write_component(d, "", "(anonymous namespace)", 21);
	else
		write_component(d, "", d->p, n);
	if (!d->bad)
		d->p += n;
}

static void read_abi_tags(struct dm *d)
{
	d->quiet++;
	while (dm_match(d, 'B'))
		dm_read_source_name(d);
	d->quiet--;
}

static void write_operator_name(struct dm *d)
{
	static const char ops[] =
		"nw new\0na new[]\0dl delete\0da delete[]\0ng-\0ad&\0de*\0co~\0pl+\0mi-\0ml*\0dv/"
		"\0rm%\0an&\0or|\0eo^\0aS=\0pL+=\0mI-=\0mL*=\0dV/=\0rM%=\0aN&=\0oR|=\0eO^=\0ls<<"
		"\0rs>>\0lS<<=\0rS>>=\0eq==\0ne!=\0lt<\0gt>\0le<=\0ge>=\0ss<=>\0nt!\0aa&&\0oo||\0"
		"pp++\0mm--\0cm,\0pm->*\0pt->\0cl()\0ix[]\0ps+\0";

	for (const char *o = ops; *o; o += strlen(o) + 1) {
		if (dm_match_two(d, o)) {
			write_component(d, "operator", o + 2, strlen(o + 2));
			return;
		}
	}
	stop_demangling(d); /* conversion operators are named after a type */
}

/* Reads C1, D2 ... */
static void write_structor(struct dm *d)
{
	char again[256];
	bool dtor = *d->p == 'D', inherits = d->p[1] == 'I';
	size_t n = d->last_len;

	d->p += inherits ? 2 : 1;
	if (!dm_is_digit(*d->p) || (!d->quiet && (!d->len || n >= sizeof(again)))) {
		stop_demangling(d);
		return;
	}
	d->p++;
	if (inherits) {
		d->quiet++;
		dm_read_type(d);
		d->quiet--;
	}
	if (d->quiet || d->bad)
		return;
	memcpy(again, d->out + d->last, n);
	write_component(d, dtor ? "~" : "", again, n);
	d->no_return = d->method = true;
}

/* Skips Ut_ and UlvE_: unnamed entities, which are part of other names. */
static void skip_unnamed(struct dm *d)
{
	bool lambda = d->p[0] == 'U' && d->p[1] == 'l';

	if (!d->quiet && !d->frame) {
		stop_demangling(d);
		return;
	}
	write_component(d, "", lambda ? "{lambda}" : "{unnamed}", lambda ? 8 : 9);
	if (dm_match_two(d, "Ul"))
		while (!d->bad && !dm_match(d, 'E'))
			dm_read_type(d);
	else if (!dm_match_two(d, "Ut"))
		stop_demangling(d);
	dm_read_number(d);
	dm_match_required(d, '_');
}

static void demangle_unqualified(struct dm *d)
{
	dm_match(d, 'L');
	if (dm_is_digit(*d->p))
		dm_read_source_name(d);
	else if (dm_is_lower(*d->p))
		write_operator_name(d);
	else if (*d->p == 'C' || *d->p == 'D')
		write_structor(d);
	else
		skip_unnamed(d);
	read_abi_tags(d);
}

/* ---- names ---- */

/* Writes Sa ... Sd in full. Returns false if the next characters are not one of these. */
static bool write_abbreviation(struct dm *d)
{
	static const char names[] = "aallocator\0bbasic_string\0sstring\0iistream\0oostream\0"
				    "diostream\0";

	for (const char *s = names; *s; s += strlen(s) + 1) {
		if (d->p[1] != *s)
			continue;
		d->p += 2;
		write_component(d, "", "std", 3);
		write_component(d, "", s + 1, strlen(s + 1));
		return true;
	}
	return false;
}

uint8_t dm_read_substitution(struct dm *d)
{
	size_t i;

	if (!d->quiet)
		stop_demangling(d); /* the text of substitutions is not kept */
	dm_match_required(d, 'S');
	i = dm_read_seq_id(d);
	if (i >= d->nsub)
		stop_demangling(d);
	return d->bad ? CXX_ANY : d->sub[i];
}

static void read_prefix_part(struct dm *d)
{
	switch (*d->p) {
	case 'S':
		if (dm_match_two(d, "St"))
			write_component(d, "", "std", 3);
		else if (!write_abbreviation(d))
			dm_read_substitution(d);
		break;
	case 'I':
		dm_read_template_args(d);
		break;
	case 'T':
		if (!d->quiet)
			stop_demangling(d);
		dm_read_template_param(d);
		break;
	default:
		demangle_unqualified(d);
	}
}

static void nested_name(struct dm *d)
{
	const char *from = d->p + 1;

	dm_match_required(d, 'N');
	while (*d->p == 'r' || *d->p == 'V' || *d->p == 'K')
		d->p++;
	if (*d->p == 'R' || *d->p == 'O')
		d->p++;
	if (!d->quiet && d->p > from)
		d->method = true;
	while (!d->bad && !dm_match(d, 'E')) {
		bool known = *d->p == 'S';

		read_prefix_part(d);
		if (!known && *d->p != 'E')
			dm_add_sub(d, CXX_CLASS);
	}
	if (!d->quiet)
		d->nested = true;
}

/*
 * A name local to a function. Accepted only in types of arguments, whose names do not matter, and
 * for stack frames.
 */
static void read_local_name(struct dm *d)
{
	struct cxx_params none = {.n = 0};

	if (!d->quiet && !d->frame)
		stop_demangling(d);
	dm_match_required(d, 'Z');
	read_encoding(d, &none);
	dm_match_required(d, 'E');
	if (!dm_match(d, 's'))
		dm_read_name(d);
	if (dm_match(d, '_')) {
		if (dm_match(d, '_')) {
			dm_read_number(d);
			dm_match_required(d, '_');
		} else {
			dm_read_number(d);
		}
	}
}

void dm_read_name(struct dm *d)
{
	bool known = false;

	if (!dm_open_level(d))
		return;
	if (*d->p == 'N') {
		nested_name(d);
	} else if (*d->p == 'Z') {
		read_local_name(d);
	} else {
		if (dm_match_two(d, "St")) {
			write_component(d, "", "std", 3);
			demangle_unqualified(d);
		} else if (*d->p == 'S') {
			known = true;
			if (!write_abbreviation(d))
				dm_read_substitution(d);
		} else {
			demangle_unqualified(d);
		}
		if (*d->p == 'I') {
			if (!known)
				dm_add_sub(d, CXX_CLASS);
			dm_read_template_args(d);
		}
	}
	d->depth--;
}

/* ---- the whole symbol ---- */

/* Reads h <n> _ or v <n> _ <n> _. */
static void read_call_offset(struct dm *d)
{
	int numbers = *d->p == 'h' ? 1 : *d->p == 'v' ? 2 : 0;

	if (!numbers) {
		stop_demangling(d);
		return;
	}
	d->p++;
	for (; numbers; numbers--) {
		dm_match(d, 'n');
		dm_read_number(d);
		dm_match_required(d, '_');
	}
}

static void read_encoding_params(struct dm *d, struct cxx_params *params)
{
	bool pack = false;
	int n = 0;

	/* The type of a function template begins with its result. */
	if (d->is_template && !d->no_return && !d->quiet)
		dm_read_type(d);
	while (*d->p && *d->p != 'E' && *d->p != '.' && *d->p != '@' && !d->bad) {
		uint8_t t = CXX_ANY;

		pack |= d->p[0] == 'D' && d->p[1] == 'p';
		if (dm_match(d, 'z'))
			params->variadic = true;
		else
			t = dm_read_type(d);
		if (t == CT_VOID || params->variadic)
			continue;
		if (n < CXX_PARAMS_MAX)
			params->type[n] = t;
		n++;
	}
	params->n = pack ? -1 : n <= CXX_PARAMS_MAX ? n : CXX_PARAMS_MAX;
}

static void read_encoding(struct dm *d, struct cxx_params *params)
{
	struct cxx_params none = {.n = 0};

	if (!dm_open_level(d))
		return;
	if (*d->p == 'T') {
		d->p++;
		d->method = true; /* thunks change `this` */
		if (dm_match(d, 'c'))
			read_call_offset(d);
		read_call_offset(d);
		read_encoding(d, params);
	} else {
		dm_read_name(d);
		if (params || d->quiet)
			read_encoding_params(d, params ? params : &none);
	}
	d->depth--;
}

int format_cxx_symbol(const char *symbol, char *buf, size_t cap, struct cxx_params *params)
{
	struct dm d = {.p = symbol, .out = buf, .cap = cap};

	if (symbol[0] != '_' || symbol[1] != 'Z' || !cap)
		return -1;
	d.p += 2;
	read_encoding(&d, NULL);
	if (d.bad || !d.len)
		return -1;
	buf[d.len] = '\0';
	if (params) {
		size_t len = d.len;

		*params = (struct cxx_params){.n = -1, .nested = d.nested, .method = d.method};
		read_encoding_params(&d, params);
		if (d.bad || d.len != len || (*d.p && *d.p != '.' && *d.p != '@'))
			params->n = -1;
		return (int)len;
	}
	return (int)d.len;
}

int format_frame_symbol(const char *symbol, char *buf, size_t cap)
{
	struct dm d = {.p = symbol, .out = buf, .cap = cap, .frame = true};
	const char *suffix = strchr(symbol, '.');

	if (symbol[0] != '_' || symbol[1] != 'Z' || !cap)
		return -1;
	d.p += 2;
	read_encoding(&d, NULL);
	if (suffix)
		put_demangled(&d, suffix, strlen(suffix));
	if (d.bad || !d.len)
		return -1;
	buf[d.len] = '\0';
	return (int)d.len;
}
