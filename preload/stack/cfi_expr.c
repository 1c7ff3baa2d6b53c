/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Location expressions in unwind tables. A rule may depend only on pc, stack pointer and frame
 * pointer, so the expression is evaluated once, symbolically. This covers the expressions that
 * occur: frames of realigned functions ("*(fp - 8)"), assembly that stores the old stack pointer
 * on the stack ("*(sp + 40) + 8"), and the PLT ("sp + 8, and 8 more after the push", which
 * depends on pc only).
 */
#include "stack/cfi_read.h"

#define DEPTH 8

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
};

static bool is_plain_value(const struct cfi_value *v)
{
	return v->base == CFI_SAME && !v->deref;
}

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_to_value(struct cfi_value *v, int64_t k)
{
	if (v->deref)
		v->add = wrap_add(v->add, k);
	else
		v->off = wrap_add(v->off, k);
}

static bool push_register(struct cfi_value *v, uint64_t reg, int64_t off, uint64_t pc)
{
	switch (reg) {
	case CFI_SP:
		*v = (struct cfi_value){.base = CFI_AT_SP, .off = off};
		return true;
	case CFI_FP:
		*v = (struct cfi_value){.base = CFI_AT_FP, .off = off};
		return true;
	case CFI_PC:
		*v = (struct cfi_value){.base = CFI_SAME, .off = wrap_add((int64_t)pc, off)};
		return true;
	}
	return false;
}

static bool read_constant(struct cursor *e, uint8_t op, int64_t *v)
{
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*v = op - OP_LIT0;
		return true;
	}
	switch (op) {
	case OP_CONST1U:
		*v = (int64_t)cursor_get(e, 1);
		return true;
	case OP_CONST1S:
		*v = (int8_t)cursor_get(e, 1);
		return true;
	case OP_CONST2U:
		*v = (int64_t)cursor_get(e, 2);
		return true;
	case OP_CONST2S:
		*v = (int16_t)cursor_get(e, 2);
		return true;
	case OP_CONST4U:
		*v = (int64_t)cursor_get(e, 4);
		return true;
	case OP_CONST4S:
		*v = (int32_t)cursor_get(e, 4);
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		*v = (int64_t)cursor_get(e, 8);
		return true;
	case OP_CONSTU:
		*v = (int64_t)cursor_get_uleb(e);
		return true;
	case OP_CONSTS:
		*v = cursor_get_sleb(e);
		return true;
	}
	return false;
}

/* Sets a to the result of the operation on a and b. */
static bool compute_binary_op(uint8_t op, struct cfi_value *a, const struct cfi_value *b)
{
	if (op == OP_PLUS && is_plain_value(a)) {
		int64_t k = a->off;

		*a = *b;
		add_to_value(a, k);
		return true;
	}
	if (!is_plain_value(b))
		return false;
	if (op == OP_PLUS) {
		add_to_value(a, b->off);
		return true;
	}
	if (op == OP_MINUS) {
		add_to_value(a, (int64_t)(0 - (uint64_t)b->off));
		return true;
	}
	if (!is_plain_value(a))
		return false;
	switch (op) {
	case OP_AND:
		a->off &= b->off;
		return true;
	case OP_SHL:
		a->off = b->off >= 0 && b->off < 64 ? (int64_t)((uint64_t)a->off << b->off) : 0;
		return true;
	case OP_GE:
		a->off = a->off >= b->off;
		return true;
	}
	return false;
}

bool cfi_read_expression(struct cursor e, uint64_t pc, struct cfi_value *v)
{
	struct cfi_value s[DEPTH];
	unsigned int n = 0;
	int64_t k;

	while (e.p < e.end) {
		uint8_t op = (uint8_t)cursor_get(&e, 1);
		bool ok = true;

		if (read_constant(&e, op, &k)) {
			if (n == DEPTH)
				return false;
			s[n++] = (struct cfi_value){.base = CFI_SAME, .off = k};
		} else if ((op >= OP_BREG0 && op <= OP_BREG31) || op == OP_BREGX) {
			uint64_t reg =
				op == OP_BREGX ? cursor_get_uleb(&e) : (uint64_t)(op - OP_BREG0);

			k = cursor_get_sleb(&e);
			ok = n < DEPTH && push_register(&s[n], reg, k, pc);
			n++;
		} else if (op == OP_DEREF) {
			ok = n && !s[n - 1].deref && s[n - 1].base != CFI_SAME;
			if (ok)
				s[n - 1].deref = 1;
		} else if (op == OP_PLUS_UCONST) {
			k = (int64_t)cursor_get_uleb(&e);
			ok = n;
			if (ok)
				add_to_value(&s[n - 1], k);
		} else {
			ok = n >= 2 && compute_binary_op(op, &s[n - 2], &s[n - 1]);
			n--;
		}
		if (!ok || e.bad)
			return false;
	}
	if (n != 1)
		return false;
	*v = s[0];
	return true;
}
