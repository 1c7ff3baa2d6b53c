/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded cursor over unwind tables, shared by the parser of entries and the interpreter of their programs. After the
 * end it reads zeros and is marked bad, so only the last of several reads needs a check.
 */
#ifndef PROBE_STACK_CFI_READ_H
#define PROBE_STACK_CFI_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "stack/cfi.h"

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline uint64_t cursor_get(struct cursor *c, size_t n)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->p) < n) {
		c->p = c->end;
		c->bad = true;
		return 0;
	}
	memcpy(&v, c->p, n); /* both supported machines are little-endian */
	c->p += n;
	return v;
}

static inline void cursor_skip(struct cursor *c, uint64_t n)
{
	if ((uint64_t)(c->end - c->p) < n) {
		c->p = c->end;
		c->bad = true;
		return;
	}
	c->p += n;
}

static inline uint64_t cursor_get_uleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;

	do {
		b = (uint8_t)cursor_get(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static inline int64_t cursor_get_sleb(struct cursor *c)
{
	uint64_t v = 0;
	unsigned int shift = 0;
	uint8_t b;

	do {
		b = (uint8_t)cursor_get(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (shift < 64 && (b & 0x40))
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

/* Reads a pointer in one of the DW_EH_PE_ encodings that occur for code addresses: absolute, or relative to itself. */
static inline uint64_t cursor_get_pointer(struct cursor *c, uint8_t enc)
{
	uint64_t at = (uint64_t)(uintptr_t)c->p, v;

	switch (enc & 0x0f) {
	case 0x00: /* absptr */
	case 0x04: /* udata8 */
	case 0x0c: /* sdata8 */
		v = cursor_get(c, 8);
		break;
	case 0x03: /* udata4 */
		v = cursor_get(c, 4);
		break;
	case 0x0b: /* sdata4 */
		v = (uint64_t)(int64_t)(int32_t)cursor_get(c, 4);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (enc & 0xf0) {
	case 0x00:
		return v;
	case 0x10: /* pcrel */
		return at + v;
	default:
		c->bad = true;
		return 0;
	}
}

/* Fields of a common information entry (CIE) that apply to all functions referring to it. */
struct cfi_common {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra; /* number of the return address column */
	uint8_t enc; /* encoding of code addresses */
	bool augmented; /* entries have augmentation data before the program */
	bool signal;
	struct cursor program;
};

/*
 * Runs the common program and then the function's own up to pc; start: the function's first
 * address. Fills in r->cfa, ra, fp, deref, add. Returns false if the programs have unsupported
 * operations.
 */
bool cfi_compute_rule(const struct cfi_common *cie, struct cursor program, uint64_t start,
	uint64_t pc, struct cfi_rule *r);

/* The value of a location expression of the supported forms; see cfi_expr.c. */
struct cfi_value {
	uint8_t base; /* CFI_AT_SP, CFI_AT_FP, or CFI_SAME: a plain number (in off) */
	uint8_t deref; /* value = *(base + off) + add, else base + off */
	int64_t off, add;
};

bool cfi_read_expression(struct cursor e, uint64_t pc, struct cfi_value *v);

#endif
