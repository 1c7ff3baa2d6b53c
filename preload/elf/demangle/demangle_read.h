/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the demangler: its position in the symbol, and the interface between demangle.c (names) and
 * demangle_type.c (types).
 */
#ifndef PROBE_ELF_DEMANGLE_READ_H
#define PROBE_ELF_DEMANGLE_READ_H

#include <string.h>

#include "elf/demangle/demangle.h"

#define DEPTH_MAX 64
#define SUBS_MAX 256
#define TARGS_MAX 16

struct dm {
	const char *p;
	char *out;
	size_t len, cap;
	bool bad; /* failed; p then points to a NUL */
	/* > 0: nothing is written, because this is not part of the outermost name */
	unsigned quiet;
	unsigned depth;
	size_t last, last_len; /* the component written last: a constructor has its name */
	/* of the outermost name: ends with <...>; has no return type in the symbol */
	bool is_template, no_return;
	bool nested, method;
	bool frame; /* set by format_frame_symbol() */
	unsigned nsub, ntarg;
	uint8_t sub[SUBS_MAX], targ[TARGS_MAX];
};

/* ---- the next characters ---- */

static inline void stop_demangling(struct dm *d)
{
	d->bad = true;
	d->p = "";
}

static inline bool dm_open_level(struct dm *d)
{
	if (++d->depth > DEPTH_MAX)
		stop_demangling(d);
	return !d->bad;
}

static inline bool dm_match(struct dm *d, char c)
{
	if (*d->p != c)
		return false;
	d->p++;
	return true;
}

static inline bool dm_match_two(struct dm *d, const char *s)
{
	if (d->p[0] != s[0] || d->p[1] != s[1])
		return false;
	d->p += 2;
	return true;
}

static inline void dm_match_required(struct dm *d, char c)
{
	if (!dm_match(d, c))
		stop_demangling(d);
}

static inline bool dm_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool dm_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool dm_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* Up to 6 digits: no name is longer. */
static inline size_t dm_read_number(struct dm *d)
{
	size_t v = 0;

	for (int i = 0; i < 6 && dm_is_digit(*d->p); i++)
		v = v * 10 + (size_t)(*d->p++ - '0');
	return v;
}

/* ---- demangle.c ---- */

void dm_read_name(struct dm *d);
void dm_read_source_name(struct dm *d);
/* A substitution such as S1_. */
uint8_t dm_read_substitution(struct dm *d);
size_t dm_read_seq_id(struct dm *d);
void dm_add_sub(struct dm *d, uint8_t t);

/* ---- demangle_type.c ---- */

/* Returns how the type is passed, as in struct cxx_params. */
uint8_t dm_read_type(struct dm *d);
void dm_read_template_args(struct dm *d);
uint8_t dm_read_template_param(struct dm *d);

#endif
