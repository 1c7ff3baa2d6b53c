/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/files/unpickle.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lib/tool.h"

#define NODES_MAX (1u << 25)
#define STACK_MAX (1u << 22)

struct machine {
	struct unpickler *u;
	const unsigned char *p, *end;
	struct pickled **stack;
	unsigned n, cap;
	unsigned *mark;
	unsigned nmark, cap_mark;
	struct pickled **memo;
	unsigned nmemo, cap_memo;
};

static const char cut[] = "the pickle is truncated";
static const char wrong[] = "the pickle is damaged";

static bool record_pickle_error(struct machine *m, const char *why)
{
	if (!m->u->why)
		m->u->why = why;
	return false;
}

static struct pickled *add_pickled(struct machine *m, enum pickled_kind kind)
{
	struct pickled *v;

	if (m->u->n == NODES_MAX) {
		record_pickle_error(m, "the pickle has too many values");
		return NULL;
	}
	v = tool_alloc(sizeof(*v));
	v->kind = kind;
	TOOL_GROW(m->u->all, m->u->n, m->u->cap);
	return m->u->all[m->u->n++] = v;
}

static bool push_pickled(struct machine *m, struct pickled *v)
{
	if (!v)
		return false;
	if (m->n == STACK_MAX)
		return record_pickle_error(m, "the pickle is nested too deeply");
	TOOL_GROW(m->stack, m->n, m->cap);
	m->stack[m->n++] = v;
	return true;
}

static unsigned get_stack_floor(const struct machine *m)
{
	return m->nmark ? m->mark[m->nmark - 1] : 0;
}

static struct pickled *pop_pickled(struct machine *m)
{
	if (m->n <= get_stack_floor(m)) {
		record_pickle_error(m, wrong);
		return NULL;
	}
	return m->stack[--m->n];
}

static bool read_pickle_bytes(struct machine *m, size_t n, const unsigned char **bytes)
{
	if ((size_t)(m->end - m->p) < n)
		return record_pickle_error(m, cut);
	*bytes = m->p;
	m->p += n;
	return true;
}

static bool read_pickle_number(struct machine *m, unsigned bytes, uint64_t *v)
{
	const unsigned char *at;

	if (!read_pickle_bytes(m, bytes, &at))
		return false;
	*v = 0;
	for (unsigned i = 0; i < bytes; i++)
		*v |= (uint64_t)at[i] << 8 * i;
	return true;
}

/* Reads the rest of the line. */
static bool read_pickle_line(struct machine *m, const char **s, size_t *n)
{
	const unsigned char *end = memchr(m->p, '\n', (size_t)(m->end - m->p));

	if (!end)
		return record_pickle_error(m, cut);
	*s = (const char *)m->p;
	*n = (size_t)(end - m->p);
	m->p = end + 1;
	return true;
}

static bool push_pickled_int(struct machine *m, int64_t i)
{
	struct pickled *v = add_pickled(m, PICKLED_INT);

	if (v)
		v->i = i;
	return push_pickled(m, v);
}

static bool push_pickled_text(struct machine *m, enum pickled_kind kind, const char *s, size_t n)
{
	struct pickled *v = add_pickled(m, kind);

	if (!v)
		return false;
	v->text = tool_alloc(n + 1);
	memcpy(v->text, s, n);
	v->length = n;
	return push_pickled(m, v);
}

/* Reads a length of `bytes` bytes, then the string. */
static bool push_counted_text(struct machine *m, unsigned bytes)
{
	const unsigned char *at;
	uint64_t n;

	return read_pickle_number(m, bytes, &n) && read_pickle_bytes(m, (size_t)n, &at) &&
	       push_pickled_text(m, PICKLED_TEXT, (const char *)at, (size_t)n);
}

/* Reads a two's complement number of any length. */
static bool add_pickled_long_int(struct machine *m, unsigned bytes)
{
	const unsigned char *at;
	uint64_t n, v = 0;

	if (!read_pickle_number(m, bytes, &n) || !read_pickle_bytes(m, (size_t)n, &at))
		return false;
	for (size_t i = 0; i < n && i < 8; i++)
		v |= (uint64_t)at[i] << 8 * i;
	if (n && n < 8 && at[n - 1] & 0x80)
		v |= UINT64_MAX << 8 * n;
	return push_pickled_int(m, (int64_t)v);
}

static void add_pickled_item(struct pickled *to, struct pickled *v)
{
	TOOL_GROW(to->item, to->n, to->cap);
	to->item[to->n++] = v;
}

/*
 * Removes the values above the last mark from the stack. Returns the first of them; *n: their
 * number.
 */
static struct pickled **remove_values_to_mark(struct machine *m, unsigned *n)
{
	unsigned at;

	*n = 0;
	if (!m->nmark) {
		record_pickle_error(m, wrong);
		return NULL;
	}
	at = m->mark[--m->nmark];
	*n = m->n - at;
	m->n = at;
	return m->stack + at;
}

static bool add_pickled_group(struct machine *m, enum pickled_kind kind, unsigned n)
{
	struct pickled *v = add_pickled(m, kind);

	if (!v || m->n - get_stack_floor(m) < n)
		return v && record_pickle_error(m, wrong);
	for (unsigned i = 0; i < n; i++)
		add_pickled_item(v, m->stack[m->n - n + i]);
	m->n -= n;
	return push_pickled(m, v);
}

static bool add_pickled_group_to_mark(struct machine *m, enum pickled_kind kind)
{
	unsigned n;
	struct pickled **at = remove_values_to_mark(m, &n), *v = at ? add_pickled(m, kind) : NULL;

	for (unsigned i = 0; v && i < n; i++)
		add_pickled_item(v, at[i]);
	return push_pickled(m, v);
}

/* Moves the values above the mark into the list or dict below it. */
static bool add_to_mark(struct machine *m)
{
	unsigned n;
	struct pickled **at = remove_values_to_mark(m, &n);

	if (!at || m->n <= get_stack_floor(m))
		return record_pickle_error(m, wrong);
	for (unsigned i = 0; i < n; i++)
		add_pickled_item(m->stack[m->n - 1], at[i]);
	return true;
}

static bool add_below(struct machine *m, unsigned n)
{
	if (m->n - get_stack_floor(m) < n + 1)
		return record_pickle_error(m, wrong);
	for (unsigned i = 0; i < n; i++)
		add_pickled_item(m->stack[m->n - n - 1], m->stack[m->n - n + i]);
	m->n -= n;
	return true;
}

static bool set_memo(struct machine *m, uint64_t index)
{
	if (m->n <= get_stack_floor(m) || index >= NODES_MAX)
		return record_pickle_error(m, wrong);
	while (m->nmemo <= index) {
		TOOL_GROW(m->memo, m->nmemo, m->cap_memo);
		m->memo[m->nmemo++] = NULL;
	}
	m->memo[index] = m->stack[m->n - 1];
	return true;
}

static bool add_pickled_memo(struct machine *m, uint64_t index)
{
	if (index >= m->nmemo || !m->memo[index])
		return record_pickle_error(m, wrong);
	return push_pickled(m, m->memo[index]);
}

static bool add_pickled_global(
	struct machine *m, const char *module, size_t nm, const char *name, size_t n)
{
	char *text = tool_format("%.*s %.*s", (int)nm, module, (int)n, name);
	bool good = push_pickled_text(m, PICKLED_GLOBAL, text, strlen(text));

	free(text);
	return good;
}

static bool add_pickled_call(struct machine *m, struct pickled *call, struct pickled *args)
{
	struct pickled *v = call && args ? add_pickled(m, PICKLED_CALL) : NULL;

	if (!v)
		return false;
	v->call = call;
	v->args = args;
	if (call->kind == PICKLED_GLOBAL && strcmp(call->text, "collections OrderedDict") == 0)
		v->kind = PICKLED_DICT;
	return push_pickled(m, v);
}

static bool read_decimal_line(struct machine *m, bool longer)
{
	const char *s;
	char text[64];
	size_t n;

	if (!read_pickle_line(m, &s, &n))
		return false;
	n = n < sizeof(text) ? n : sizeof(text) - 1;
	memcpy(text, s, n);
	text[n] = 0;
	if (!longer && (strcmp(text, "00") == 0 || strcmp(text, "01") == 0)) {
		struct pickled *v = add_pickled(m, PICKLED_BOOL);

		if (v)
			v->i = text[1] == '1';
		return push_pickled(m, v);
	}
	return push_pickled_int(m, strtoll(text, NULL, 10));
}

static bool push_pickled_double(struct machine *m, double f)
{
	struct pickled *v = add_pickled(m, PICKLED_FLOAT);

	if (v)
		v->f = f;
	return push_pickled(m, v);
}

/* Reads 'G': eight bytes, the highest first. */
static bool read_binary_float(struct machine *m)
{
	const unsigned char *at;
	uint64_t bits = 0;
	double f;

	if (!read_pickle_bytes(m, 8, &at))
		return false;
	for (unsigned i = 0; i < 8; i++)
		bits = bits << 8 | at[i];
	memcpy(&f, &bits, 8);
	return push_pickled_double(m, f);
}

static bool push_pickled_bool(struct machine *m, bool b)
{
	struct pickled *v = add_pickled(m, PICKLED_BOOL);

	if (v)
		v->i = b;
	return push_pickled(m, v);
}

static bool add_mark(struct machine *m)
{
	TOOL_GROW(m->mark, m->nmark, m->cap_mark);
	m->mark[m->nmark++] = m->n;
	return true;
}

static bool push_stored(struct machine *m, struct pickled *id)
{
	struct pickled *v = id ? add_pickled(m, PICKLED_STORED) : NULL;

	if (v)
		v->args = id;
	return push_pickled(m, v);
}

static bool set_pickled_state(struct machine *m)
{
	struct pickled *state = pop_pickled(m);

	if (!state || m->n <= get_stack_floor(m))
		return record_pickle_error(m, wrong);
	m->stack[m->n - 1]->state = state;
	return true;
}

static bool remove_mark(struct machine *m)
{
	unsigned n;

	return remove_values_to_mark(m, &n) != NULL || !m->u->why;
}

/* Handles an opcode that is followed by a number or a string. */
static bool handle_value_opcode(struct machine *m, unsigned char op)
{
	const unsigned char *at;
	const char *s, *t;
	uint64_t v = 0;
	size_t n, k;

	switch (op) {
	case 'I':
	case 'L':
		return read_decimal_line(m, op == 'L');
	case 'J':
		return read_pickle_number(m, 4, &v) && push_pickled_int(m, (int32_t)(uint32_t)v);
	case 'K':
		return read_pickle_number(m, 1, &v) && push_pickled_int(m, (int64_t)v);
	case 'M':
		return read_pickle_number(m, 2, &v) && push_pickled_int(m, (int64_t)v);
	case 0x8a:
		return add_pickled_long_int(m, 1);
	case 0x8b:
		return add_pickled_long_int(m, 4);
	case 'F':
		return read_pickle_line(m, &s, &n) && push_pickled_double(m, strtod(s, NULL));
	case 'G':
		return read_binary_float(m);
	case 'S':
	case 'V':
		return read_pickle_line(m, &s, &n) && push_pickled_text(m, PICKLED_TEXT, s, n);
	case 'T':
	case 'X':
	case 'B':
		return push_counted_text(m, 4);
	case 'U':
	case 'C':
	case 0x8c:
		return push_counted_text(m, 1);
	case 0x8d:
	case 0x8e:
	case 0x96:
		return push_counted_text(m, 8);
	case 'c':
		return read_pickle_line(m, &s, &n) && read_pickle_line(m, &t, &k) &&
		       add_pickled_global(m, s, n, t, k);
	case 'p':
		return read_pickle_line(m, &s, &n) && set_memo(m, strtoull(s, NULL, 10));
	case 'g':
		return read_pickle_line(m, &s, &n) && add_pickled_memo(m, strtoull(s, NULL, 10));
	case 'q':
		return read_pickle_number(m, 1, &v) && set_memo(m, v);
	case 'r':
		return read_pickle_number(m, 4, &v) && set_memo(m, v);
	case 'h':
		return read_pickle_number(m, 1, &v) && add_pickled_memo(m, v);
	case 'j':
		return read_pickle_number(m, 4, &v) && add_pickled_memo(m, v);
	case 'P':
		return read_pickle_line(m, &s, &n) && push_pickled_text(m, PICKLED_TEXT, s, n) &&
		       push_stored(m, pop_pickled(m));
	case 0x80:
		return read_pickle_bytes(m, 1, &at);
	case 0x95:
		return read_pickle_bytes(m, 8, &at);
	default:
		return record_pickle_error(m, "the pickle has an unknown opcode");
	}
}

static bool handle_call_opcode(struct machine *m, unsigned char op)
{
	struct pickled *a, *b, *kw;

	switch (op) {
	case 'R':
	case 0x81:
		b = pop_pickled(m);
		a = pop_pickled(m);
		return add_pickled_call(m, a, b);
	case 0x92:
		kw = pop_pickled(m);
		b = pop_pickled(m);
		a = pop_pickled(m);
		return kw && add_pickled_call(m, a, b);
	case 0x93:
		b = pop_pickled(m);
		a = pop_pickled(m);
		if (!a || !b || a->kind != PICKLED_TEXT || b->kind != PICKLED_TEXT)
			return record_pickle_error(m, wrong);
		return add_pickled_global(m, a->text, a->length, b->text, b->length);
	case 'Q':
		return push_stored(m, pop_pickled(m));
	case 'b':
		return set_pickled_state(m);
	default:
		return handle_value_opcode(m, op);
	}
}

static bool handle_opcode(struct machine *m, unsigned char op)
{
	switch (op) {
	case '(':
		return add_mark(m);
	case '0':
		return pop_pickled(m) != NULL;
	case '1':
		return remove_mark(m);
	case '2':
		if (m->n <= get_stack_floor(m))
			return record_pickle_error(m, wrong);
		return push_pickled(m, m->stack[m->n - 1]);
	case 'N':
		return push_pickled(m, add_pickled(m, PICKLED_NONE));
	case 0x88:
	case 0x89:
		return push_pickled_bool(m, op == 0x88);
	case ']':
	case 0x8f:
		return push_pickled(m, add_pickled(m, PICKLED_LIST));
	case '}':
		return push_pickled(m, add_pickled(m, PICKLED_DICT));
	case ')':
		return push_pickled(m, add_pickled(m, PICKLED_TUPLE));
	case 't':
		return add_pickled_group_to_mark(m, PICKLED_TUPLE);
	case 'l':
	case 0x91:
		return add_pickled_group_to_mark(m, PICKLED_LIST);
	case 'd':
		return add_pickled_group_to_mark(m, PICKLED_DICT);
	case 0x85:
	case 0x86:
	case 0x87:
		return add_pickled_group(m, PICKLED_TUPLE, op - 0x84u);
	case 'e':
	case 'u':
	case 0x90:
		return add_to_mark(m);
	case 'a':
		return add_below(m, 1);
	case 's':
		return add_below(m, 2);
	case 0x94:
		return set_memo(m, m->nmemo);
	default:
		return handle_call_opcode(m, op);
	}
}

const struct pickled *read_pickle(struct unpickler *u, const char *bytes, size_t n)
{
	struct machine m = {
		.u = u, .p = (const unsigned char *)bytes, .end = (const unsigned char *)bytes + n};
	const struct pickled *top = NULL;

	*u = (struct unpickler){0};
	/* The array must never be NULL, because an empty group on an empty stack is a group too. */
	TOOL_GROW(m.stack, m.n, m.cap);
	while (!top && !u->why) {
		unsigned char op;

		if (m.p == m.end) {
			record_pickle_error(&m, cut);
			break;
		}
		op = *m.p++;
		if (op == '.')
			top = pop_pickled(&m);
		else
			handle_opcode(&m, op);
	}
	free(m.stack);
	free(m.mark);
	free(m.memo);
	return u->why ? NULL : top;
}

void free_pickle(struct unpickler *u)
{
	for (unsigned i = 0; i < u->n; i++) {
		free(u->all[i]->text);
		free(u->all[i]->item);
		free(u->all[i]);
	}
	free(u->all);
	*u = (struct unpickler){0};
}
