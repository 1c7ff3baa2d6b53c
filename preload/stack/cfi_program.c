/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of call frame programs. A program is a table of rules, one row for each range
 * of addresses, encoded as differences from row to row. Keeps the three columns of struct
 * cfi_rule and skips all others.
 */
#include "stack/cfi_read.h"

#define REMEMBERED 8

enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC,
	CFA_ADVANCE_LOC1,
	CFA_ADVANCE_LOC2,
	CFA_ADVANCE_LOC4,
	CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED,
	CFA_UNDEFINED,
	CFA_SAME_VALUE,
	CFA_REGISTER,
	CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE,
	CFA_DEF_CFA,
	CFA_DEF_CFA_REGISTER,
	CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION,
	CFA_EXPRESSION,
	CFA_OFFSET_EXTENDED_SF,
	CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF,
	CFA_VAL_OFFSET,
	CFA_VAL_OFFSET_SF,
	CFA_VAL_EXPRESSION,
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	/* on other machines this code has a meaning for SPARC only */
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	CFA_ADVANCE_LOC = 0x40, /* of this and the next two, the operand is in the lower six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

/*
 * One row. The register of the CFA is stored by number, because a program may name one that a
 * rule cannot describe, and change it later.
 */
struct row {
	uint64_t reg;
	int64_t off;
	bool expression; /* the CFA is `cfa`, instead of reg and off */
	struct cfi_value cfa;
	struct cfi_place ra, fp;
};

struct machine {
	const struct cfi_common *cie;
	uint64_t pc, loc;
	struct row row, initial;
	struct row remembered[REMEMBERED];
	unsigned int depth;
	bool unknown;
};

static struct cfi_place get_place_at_cfa(int64_t off)
{
	struct cfi_place p = {.off = (int32_t)off, .base = CFI_AT_CFA};

	if (off != p.off)
		p.base = CFI_LOST;
	return p;
}

static struct cfi_place get_place_at_base(enum cfi_base base)
{
	struct cfi_place p = {.base = (uint8_t)base};

	return p;
}

static struct cfi_place *register_column(struct machine *m, struct row *row, uint64_t reg)
{
	if (reg == CFI_FP)
		return &row->fp;
	return reg == m->cie->ra ? &row->ra : NULL;
}

static void set_register_rule(struct machine *m, uint64_t reg, struct cfi_place p)
{
	struct cfi_place *c = register_column(m, &m->row, reg);

	if (c)
		*c = p;
}

static void restore_register_rule(struct machine *m, uint64_t reg)
{
	struct cfi_place *c = register_column(m, &m->initial, reg);

	if (c)
		set_register_rule(m, reg, *c);
}

static int64_t compute_data_offset(struct machine *m, int64_t v)
{
	return (int64_t)((uint64_t)v * (uint64_t)m->cie->data_align);
}

static struct cursor read_block(struct cursor *c)
{
	uint64_t len = cursor_get_uleb(c);
	struct cursor b = *c;

	cursor_skip(c, len);
	b.end = c->p;
	if (c->bad)
		b.p = b.end;
	return b;
}

/*
 * Location of a register saved at address e. With `deref` the address itself would have to be
 * read, which a rule cannot describe.
 */
static struct cfi_place read_saved_place(struct machine *m, struct cursor e)
{
	struct cfi_value v;
	struct cfi_place p = get_place_at_base(CFI_LOST);

	if (cfi_read_expression(e, m->pc, &v) && !v.deref && v.base != CFI_SAME &&
		v.off == (int32_t)v.off) {
		p.off = (int32_t)v.off;
		p.base = v.base;
	}
	return p;
}

static void set_cfa_rule(struct machine *m, uint64_t reg, int64_t off)
{
	m->row.reg = reg;
	m->row.off = off;
	m->row.expression = false;
}

/* Returns false if the next row begins after pc: the current row is complete. */
static bool update_location(struct machine *m, uint64_t delta)
{
	m->loc += delta * m->cie->code_align;
	return m->loc <= m->pc;
}

/* Runs operations that change where a register is saved. */
static bool handle_register_op(struct machine *m, struct cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = cursor_get_uleb(c);
		set_register_rule(m, reg,
			get_place_at_cfa(compute_data_offset(m, (int64_t)cursor_get_uleb(c))));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		reg = cursor_get_uleb(c);
		set_register_rule(
			m, reg, get_place_at_cfa(compute_data_offset(m, cursor_get_sleb(c))));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = cursor_get_uleb(c);
		set_register_rule(m, reg,
			get_place_at_cfa(-compute_data_offset(m, (int64_t)cursor_get_uleb(c))));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore_register_rule(m, cursor_get_uleb(c));
		return true;
	case CFA_UNDEFINED:
		set_register_rule(m, cursor_get_uleb(c), get_place_at_base(CFI_UNDEFINED));
		return true;
	case CFA_SAME_VALUE:
		set_register_rule(m, cursor_get_uleb(c), get_place_at_base(CFI_SAME));
		return true;
	case CFA_REGISTER:
	case CFA_VAL_OFFSET:
		set_register_rule(m, cursor_get_uleb(c), get_place_at_base(CFI_LOST));
		cursor_get_uleb(c);
		return true;
	case CFA_VAL_OFFSET_SF:
		set_register_rule(m, cursor_get_uleb(c), get_place_at_base(CFI_LOST));
		cursor_get_sleb(c);
		return true;
	case CFA_EXPRESSION:
		reg = cursor_get_uleb(c);
		set_register_rule(m, reg, read_saved_place(m, read_block(c)));
		return true;
	case CFA_VAL_EXPRESSION:
		set_register_rule(m, cursor_get_uleb(c), get_place_at_base(CFI_LOST));
		read_block(c);
		return true;
	}
	return false;
}

/* Runs operations that change the CFA. */
static bool handle_cfa_op(struct machine *m, struct cursor *c, uint8_t op)
{
	struct cfi_value v = {.base = CFI_LOST};
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cursor_get_uleb(c);
		set_cfa_rule(m, reg, (int64_t)cursor_get_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		reg = cursor_get_uleb(c);
		set_cfa_rule(m, reg, compute_data_offset(m, cursor_get_sleb(c)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa_rule(m, cursor_get_uleb(c), m->row.off);
		return true;
	case CFA_DEF_CFA_OFFSET:
		set_cfa_rule(m, m->row.reg, (int64_t)cursor_get_uleb(c));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		set_cfa_rule(m, m->row.reg, compute_data_offset(m, cursor_get_sleb(c)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		m->row.expression = true;
		if (!cfi_read_expression(read_block(c), m->pc, &v))
			v.base = CFI_LOST;
		m->row.cfa = v;
		return true;
	}
	return false;
}

static void handle_other_op(struct machine *m, struct cursor *c, uint8_t op)
{
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_REMEMBER_STATE:
		if (m->depth == REMEMBERED) {
			m->unknown = true;
			break;
		}
		m->remembered[m->depth++] = m->row;
		break;
	case CFA_RESTORE_STATE:
		if (!m->depth) {
			m->unknown = true;
			break;
		}
		m->row = m->remembered[--m->depth];
		break;
	case CFA_GNU_ARGS_SIZE:
		cursor_get_uleb(c);
		break;
#if defined(__aarch64__)
	/* ignored: signatures are removed from every return address */
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		break;
#endif
	default:
		m->unknown = true;
	}
}

static bool handle_cfi_program(struct machine *m, struct cursor c)
{
	while (c.p < c.end && !c.bad && !m->unknown) {
		uint8_t op = (uint8_t)cursor_get(&c, 1), low = op & 0x3f;
		uint64_t delta;

		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			if (!update_location(m, low))
				return true;
			continue;
		case CFA_OFFSET:
			set_register_rule(m, low,
				get_place_at_cfa(
					compute_data_offset(m, (int64_t)cursor_get_uleb(&c))));
			continue;
		case CFA_RESTORE:
			restore_register_rule(m, low);
			continue;
		}
		switch (op) {
		case CFA_SET_LOC:
			m->loc = cursor_get_pointer(&c, m->cie->enc);
			if (m->loc > m->pc)
				return !c.bad;
			continue;
		case CFA_ADVANCE_LOC1:
		case CFA_ADVANCE_LOC2:
		case CFA_ADVANCE_LOC4:
			delta = cursor_get(&c, (size_t)1 << (op - CFA_ADVANCE_LOC1));
			if (!update_location(m, delta))
				return !c.bad;
			continue;
		}
		if (!handle_register_op(m, &c, op) && !handle_cfa_op(m, &c, op))
			handle_other_op(m, &c, op);
	}
	return !c.bad && !m->unknown;
}

static bool is_offset_in_range(int64_t v)
{
	return v == (int32_t)v;
}

static void set_cfa(const struct row *row, struct cfi_rule *r)
{
	struct cfi_value v = row->cfa;

	if (!row->expression) {
		v = (struct cfi_value){.base = CFI_LOST, .off = row->off};
		if (row->reg == CFI_SP)
			v.base = CFI_AT_SP;
		else if (row->reg == CFI_FP)
			v.base = CFI_AT_FP;
	}
	if ((v.base != CFI_AT_SP && v.base != CFI_AT_FP) || !is_offset_in_range(v.off) ||
		!is_offset_in_range(v.add)) {
		r->cfa = get_place_at_base(CFI_LOST);
		return;
	}
	r->cfa.base = v.base;
	r->cfa.off = (int32_t)v.off;
	r->deref = v.deref;
	r->add = (int32_t)v.add;
}

bool cfi_compute_rule(const struct cfi_common *cie, struct cursor program, uint64_t start,
	uint64_t pc, struct cfi_rule *r)
{
	struct machine m;

	m.cie = cie;
	m.pc = pc;
	m.loc = start;
	m.depth = 0;
	m.unknown = false;
	memset(&m.row, 0, sizeof(m.row));
	m.row.reg = UINT64_MAX;
	m.row.ra = get_place_at_base(CFI_SAME);
	m.row.fp = get_place_at_base(CFI_SAME);
	m.initial = m.row;
	if (!handle_cfi_program(&m, cie->program))
		return false;
	m.initial = m.row;
	if (!handle_cfi_program(&m, program))
		return false;
	set_cfa(&m.row, r);
	r->ra = m.row.ra;
	r->fp = m.row.fp;
	return true;
}
