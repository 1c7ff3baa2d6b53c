/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is particular to a user's own functions: they are found by name in any library that is being loaded, and
 * nobody but the file says what their handles mean.
 */
#include <ctype.h>
#include <string.h>

#include "config/glob.h"
#include "spec/spec.h"

static const char *const comm_keys[] = {"rank", "size", NULL};

/* Roles that mean something without an adapter. */
static const uint8_t plain_roles[] = {ROLE_NONE, ROLE_SEND, ROLE_RECV, ROLE_BUF, ROLE_COUNT,
	ROLE_SCOUNT, ROLE_RCOUNT, ROLE_SCOUNTS, ROLE_SDISPLS, ROLE_RCOUNTS, ROLE_RDISPLS,
	ROLE_DTYPE, ROLE_SDTYPE, ROLE_RDTYPE, ROLE_OP, ROLE_ROOT, ROLE_PEER, ROLE_RPEER, ROLE_TAG,
	ROLE_RTAG, ROLE_COMM, ROLE_STREAM, ROLE_NEWCOMM, ROLE_COMMP};

/* ---- comm: {rank: "my_rank(comm, int *out)", size: "int my_size(comm)"} ---- */

/* What is left of a query's text. */
struct rest {
	const struct node *node;
	const char *p;
};

static bool take(struct rest *r, const char *s)
{
	size_t n = strlen(s);

	while (*r->p == ' ')
		r->p++;
	if (strncmp(r->p, s, n) != 0 ||
		(isalnum((unsigned char)s[n - 1]) &&
			(isalnum((unsigned char)r->p[n]) || r->p[n] == '_')))
		return false;
	r->p += n;
	return true;
}

/* An integer type; returns its bytes, 0 if none is next. */
static uint8_t take_int(struct rest *r)
{
	static const struct {
		const char *name;
		uint8_t bytes;
	} ints[] = {{"unsigned long", 8}, {"unsigned int", 4}, {"unsigned", 4}, {"long long", 8},
		{"long", 8}, {"int", 4}, {"int32_t", 4}, {"uint32_t", 4}, {"int64_t", 8},
		{"uint64_t", 8}, {"size_t", 8}};

	for (size_t i = 0; i < sizeof(ints) / sizeof(ints[0]); i++)
		if (take(r, ints[i].name))
			return ints[i].bytes;
	return 0;
}

/* Behind the function's name. */
static bool take_args(struct rest *r, struct query *q)
{
	uint8_t bytes;

	if (!take(r, "("))
		return false;
	q->comm = take(r, "comm");
	if (q->comm ? take(r, ",") : !take(r, ")")) {
		bytes = take_int(r);
		if (!bytes || !take(r, "*"))
			return false;
		take(r, "out");
		q->bytes = bytes;
		q->out = true;
		return take(r, ")");
	}
	return q->comm ? take(r, ")") : true;
}

static void query_read(struct spec_load *l, const struct node *n, struct query *q)
{
	struct rest r = {n, node_text(l, n, "")};
	uint8_t bytes;
	size_t len;

	bytes = take_int(&r);
	q->bytes = bytes ? bytes : 4;
	while (*r.p == ' ')
		r.p++;
	len = strspn(r.p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	q->function = load_text(l, r.p, len);
	r.p += len;
	if (len && !strchr("0123456789", *q->function) && take_args(&r, q)) {
		while (*r.p == ' ')
			r.p++;
		if (!*r.p)
			return;
	}
	load_fail(l, node_column(n, (size_t)(r.p - n->text)),
		"'%s': expected \"function(comm, int *out)\", which writes the number, or \"int "
		"function(comm)\", which returns it; comm is left out where there is one "
		"communicator only",
		n->text);
}

void user_read(struct spec_load *l, struct spec *s)
{
	const struct node *comm = node_get(s->top, "comm");
	const struct node *rank = node_get(comm, "rank"), *size = node_get(comm, "size");

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
	if (!comm || !node_is(l, comm, NODE_MAP, "comm"))
		return;
	node_known(l, comm, comm_keys, "comm");
	if (!rank || !size) {
		load_fail(l, comm->at, "comm needs both rank and size");
		return;
	}
	query_read(l, rank, &s->rank);
	query_read(l, size, &s->size);
	if (s->rank.comm != s->size.comm)
		load_fail(l, comm->at, "either both rank and size have the argument comm, or none");
}

/* C++ names are compared without arguments of any sort. */
static const char *with_arguments(const char *name)
{
	const char *last = strstr(name, "operator"), *p = name;

	while ((p = strpbrk(p, "(<"))) {
		if (strncmp(p, "(anonymous namespace)", 21) != 0 && (!last || p < last))
			return "has arguments: write the name without (...) and <...>; overloads "
			       "are told apart by sig";
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
		wrong = with_arguments(f->symbol);
	if (!*f->symbol)
		wrong = "is empty";
	if (wrong)
		load_fail(l, given ? given->at : f->at, "'%s' %s", f->symbol, wrong);
	if (f->find != FIND_SYMBOL && node_get(row, "v"))
		load_fail(l, node_get(row, "v")->at,
			"'%s': variants are for rows with a C function's name", f->list);
	return !wrong;
}

/* Does any of its buffers depend on rank, size or root? */
static bool needs_comm(const struct extent *list, unsigned n)
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

	if (!k || !(k->rooted || needs_comm(k->in, k->nin) || needs_comm(k->out, k->nout)))
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
