/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for a user's own functions: they are found by name in any loaded library, and only the file defines the meaning of
 * their handles.
 */
#include <string.h>

#include "config/list/glob.h"
#include "spec/spec.h"

/* Roles that have a meaning without an adapter. */
static const uint8_t plain_roles[] = {ROLE_NONE, ROLE_SEND, ROLE_RECV, ROLE_BUF, ROLE_COUNT,
	ROLE_SCOUNT, ROLE_RCOUNT, ROLE_SCOUNTS, ROLE_SDISPLS, ROLE_RCOUNTS, ROLE_RDISPLS,
	ROLE_DTYPE, ROLE_SDTYPE, ROLE_RDTYPE, ROLE_OP, ROLE_ROOT, ROLE_PEER, ROLE_RPEER, ROLE_TAG,
	ROLE_RTAG, ROLE_COMM, ROLE_STREAM, ROLE_NEWCOMM, ROLE_COMMP};

void user_read(struct spec_load *l, struct spec *s)
{
	s->missing = -1;
	s->objects = node_get(s->top, "objects");
	if (s->objects && node_is(l, s->objects, NODE_LIST, "objects")) {
		for (unsigned i = 0; i < s->objects->n; i++) {
			const struct node *n = s->objects->item[i];
			const char *wrong = glob_check(node_text(l, n, ""));

			if (wrong)
				load_fail(l, n->at, "'%s' %s", n->text, wrong);
		}
	}
	if (s->completion != DONE_RETURN)
		load_fail(l, node_get(s->top, "completion")->at,
			"completion must be return: others need an adapter");
}

/* C++ names are compared without any arguments. */
static const char *check_name_arguments(const char *name)
{
	const char *last = strstr(name, "operator"), *p = name;

	while ((p = strpbrk(p, "(<"))) {
		if (strncmp(p, "(anonymous namespace)", 21) != 0 && (!last || p < last))
			return "has arguments: write the name without (...) and <...>; overloads "
			       "are distinguished by sig";
		p++;
	}
	return NULL;
}

bool user_row_read(struct spec_load *l, struct func *f, const struct node *row)
{
	const struct node *name = node_get(row, "name"), *symbol = node_get(row, "symbol");
	const struct node *given = symbol ? symbol : name;
	const char *wrong;

	if (name && symbol) {
		load_fail(l, symbol->at, "'%s' has both name and symbol", f->list);
		return false;
	}
	f->symbol = node_text(l, given, f->symbol);
	if (name || (!given && strstr(f->symbol, "::")))
		f->find = FIND_NAME;
	else if (glob_is(f->symbol))
		f->find = FIND_GLOB;
	wrong = f->find == FIND_SYMBOL ? NULL : glob_check(f->symbol);
	if (f->find == FIND_NAME && !wrong)
		wrong = check_name_arguments(f->symbol);
	if (!*f->symbol)
		wrong = "is empty";
	if (wrong)
		load_fail(l, given ? given->at : f->at, "'%s' %s", f->symbol, wrong);
	if (f->find != FIND_SYMBOL && node_get(row, "v"))
		load_fail(l, node_get(row, "v")->at,
			"'%s': variants are for rows with a C function's name", f->list);
	return !wrong;
}

/* True if a buffer in the list depends on rank, size or root. */
static bool is_comm_needed(const struct extent *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct extent *e = &list[i];
		bool more = e->where != ON_ALL || (e->form != EXT_NONE && e->form != EXT_PRODUCT);

		for (unsigned j = 0; j < e->nterm; j++)
			more |= e->term[j] >= ROLE_NROLES;
		for (unsigned j = 0; j < e->noffset; j++)
			more |= e->offset[j] >= ROLE_NROLES;
		if (more)
			return true;
	}
	return false;
}

static void comm_check(struct spec_load *l, const struct func *f)
{
	const struct kind *k = f->kind;
	const struct query *q = &f->spec->rank;

	if (!k || !(k->rooted || is_comm_needed(k->in, k->nin) || is_comm_needed(k->out, k->nout)))
		return;
	if (!q->function)
		load_fail(l, f->at,
			"'%s': the buffers of kind '%s' depend on rank and size: say comm: {rank: "
			"\"my_rank(comm, int *out)\", size: ...} at the top of the file",
			f->list, k->name);
	else if (q->comm && !func_has(f, ROLE_COMM))
		load_fail(l, f->at, "'%s' has no 'comm', which kind '%s' needs", f->list, k->name);
}

static void values_check(struct spec_load *l, const struct func *f)
{
	static const uint8_t dtypes[] = {ROLE_DTYPE, ROLE_SDTYPE, ROLE_RDTYPE};

	for (unsigned i = 0; f->kind && i < sizeof(dtypes); i++)
		if (func_has(f, dtypes[i]) && !f->spec->dtype.n)
			load_fail(l, f->at,
				"'%s' has '%s': say what its values mean, dtype: {0: float32}, at "
				"the top of the file",
				f->list, role_name[dtypes[i]]);
	if (f->kind && func_has(f, ROLE_OP) && !f->spec->redop.n)
		load_fail(l, f->at,
			"'%s' has 'op': say what its values mean, redop: {0: sum}, at the top of "
			"the file",
			f->list);
}

void user_row_check(struct spec_load *l, const struct func *f)
{
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct param *p = &f->args.item[i];

		if (!memchr(plain_roles, p->role, sizeof(plain_roles)))
			load_fail(l, p->at,
				"role '%s' needs an adapter; begin the name with _ if it does not "
				"matter",
				p->name);
	}
	if (!f->kind && f->task != TASK_COMM_NEW && f->task != TASK_COMM_END)
		load_fail(l, f->at,
			"'%s': this task needs an adapter; without one there are comm_new and "
			"comm_end",
			f->list);
	if (f->completion != DONE_RETURN)
		load_fail(l, f->at, "'%s': completion must be return: others need an adapter",
			f->list);
	comm_check(l, f);
	values_check(l, f);
}
