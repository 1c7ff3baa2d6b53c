/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a row has the parameters that its kind, task and completion need, with suitable types. */
#include <string.h>

#include "spec/spec.h"

enum sort {
	SORT_ANY,
	SORT_INT, /* integer by value */
	SORT_HANDLE, /* handle, pointer or integer by value */
	SORT_POINTER,
	SORT_INTS, /* pointer to 4- or 8-byte integers */
	SORT_INT_OUT, /* pointer to int */
	SORT_HANDLES, /* pointer to handles */
	SORT_TAG, /* integer or pointer (text) */
	SORT_NUMBER, /* integer, or a pointer to one (Fortran) */
};

static const char *const sort_text[] = {
	[SORT_INT] = "an integer",
	[SORT_HANDLE] = "a handle, a pointer or an integer",
	[SORT_POINTER] = "a pointer",
	[SORT_INTS] = "a pointer to 4- or 8-byte integers",
	[SORT_INT_OUT] = "a pointer to int",
	[SORT_HANDLES] = "a pointer to handles",
	[SORT_TAG] = "an integer or a pointer",
	[SORT_NUMBER] = "an integer or a pointer to one",
};

static const uint8_t role_sort[ROLE_NROLES] = {
	[ROLE_SEND] = SORT_POINTER,
	[ROLE_RECV] = SORT_POINTER,
	[ROLE_BUF] = SORT_POINTER,
	[ROLE_COUNT] = SORT_INT,
	[ROLE_SCOUNT] = SORT_INT,
	[ROLE_RCOUNT] = SORT_INT,
	[ROLE_SCOUNTS] = SORT_INTS,
	[ROLE_SDISPLS] = SORT_INTS,
	[ROLE_RCOUNTS] = SORT_INTS,
	[ROLE_RDISPLS] = SORT_INTS,
	[ROLE_DTYPE] = SORT_HANDLE,
	[ROLE_SDTYPE] = SORT_HANDLE,
	[ROLE_RDTYPE] = SORT_HANDLE,
	[ROLE_SDTYPES] = SORT_HANDLES,
	[ROLE_RDTYPES] = SORT_HANDLES,
	[ROLE_OP] = SORT_HANDLE,
	[ROLE_ROOT] = SORT_INT,
	[ROLE_PEER] = SORT_INT,
	[ROLE_RPEER] = SORT_INT,
	[ROLE_TAG] = SORT_INT,
	[ROLE_RTAG] = SORT_INT,
	[ROLE_COMM] = SORT_HANDLE,
	[ROLE_STREAM] = SORT_HANDLE,
	[ROLE_REQUEST] = SORT_HANDLE,
	[ROLE_REQUESTS] = SORT_HANDLES,
	[ROLE_NREQ] = SORT_INT,
	[ROLE_STATUS] = SORT_POINTER,
	[ROLE_STATUSES] = SORT_POINTER,
	[ROLE_FLAG] = SORT_INT_OUT,
	[ROLE_INDEX] = SORT_INT_OUT,
	[ROLE_INDICES] = SORT_INT_OUT,
	[ROLE_OUTCOUNT] = SORT_INT_OUT,
	[ROLE_NEWCOMM] = SORT_HANDLES,
	[ROLE_COMMP] = SORT_HANDLES,
	[ROLE_GROUP] = SORT_HANDLE,
	[ROLE_COLOR] = SORT_INT,
	[ROLE_NEWTAG] = SORT_TAG,
	[ROLE_PEERCOMM] = SORT_HANDLE,
	[ROLE_MESSAGE] = SORT_HANDLES,
	[ROLE_NAME] = SORT_POINTER,
	[ROLE_LEVEL] = SORT_INT,
	[ROLE_NRANKS] = SORT_INT,
	[ROLE_RANK] = SORT_INT,
	[ROLE_ID] = SORT_ANY, /* a struct by value or a pointer */
	[ROLE_ITEMS] = SORT_POINTER,
	[ROLE_NITEMS] = SORT_INT,
	[ROLE_WIN] = SORT_HANDLE,
	[ROLE_NEWWIN] = SORT_HANDLES,
	[ROLE_WINP] = SORT_HANDLES,
	[ROLE_ORDER] = SORT_NUMBER,
	[ROLE_TRANSA] = SORT_NUMBER,
	[ROLE_TRANSB] = SORT_NUMBER,
	[ROLE_SIDE] = SORT_NUMBER,
	[ROLE_M] = SORT_NUMBER,
	[ROLE_N] = SORT_NUMBER,
	[ROLE_K] = SORT_NUMBER,
	[ROLE_LDA] = SORT_NUMBER,
	[ROLE_LDB] = SORT_NUMBER,
	[ROLE_LDC] = SORT_NUMBER,
	[ROLE_INCX] = SORT_NUMBER,
	[ROLE_INCY] = SORT_NUMBER,
	[ROLE_STRIDEA] = SORT_INT,
	[ROLE_STRIDEB] = SORT_INT,
	[ROLE_STRIDEC] = SORT_INT,
	[ROLE_COMPUTE] = SORT_INT,
	[ROLE_HANDLE] = SORT_HANDLE,
};

static bool is_sort_valid(const struct type *t, enum sort sort)
{
	bool integer = t->ctype >= CT_I8 && t->ctype <= CT_U64 && !t->handle;
	bool pointer = t->ctype == CT_P;

	switch (sort) {
	case SORT_ANY:
		return true;
	case SORT_INT:
		return integer;
	case SORT_HANDLE:
		return integer || t->handle || pointer;
	case SORT_POINTER:
		return pointer;
	case SORT_INTS:
		return pointer && t->elem_bytes;
	case SORT_INT_OUT:
		return pointer && t->elem_bytes == 4;
	case SORT_HANDLES:
		return pointer && (t->points_handle || t->elem_bytes);
	case SORT_TAG:
		return integer || pointer;
	case SORT_NUMBER:
		return integer || (pointer && (t->elem_bytes || t->dtype == DT_INT8));
	}
	return false;
}

static void sorts_check(struct spec_load *l, const struct func *f)
{
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct param *p = &f->args.item[i];
		enum sort sort = role_sort[p->role];
		bool array = p->role >= ROLE_SCOUNTS && p->role <= ROLE_RDISPLS;

		if (array && p->type.points_void && f->spec->counts)
			continue;
		if (array && p->type.points_void)
			load_fail(l, p->at,
				"'%s' is an array of void: say counts: u32 or u64 at the top of "
				"the file",
				p->name);
		else if (!is_sort_valid(&p->type, sort))
			load_fail(l, p->at, "'%s' must be %s", p->name, sort_text[sort]);
	}
}

/* The roles of a row, and which of them its kind uses. */
struct use {
	struct spec_load *l;
	const struct func *f;
	bool used[ROLE_NROLES];
};

bool func_has(const struct func *f, uint8_t role)
{
	for (unsigned i = 0; i < f->args.n; i++)
		if (f->args.item[i].role == role)
			return true;
	return false;
}

static void mark_role_used(struct use *u, uint8_t role)
{
	uint8_t second = role_fallback(role);

	if (role == ROLE_NONE)
		return;
	if (func_has(u->f, role))
		u->used[role] = true;
	else if (second != ROLE_NONE && func_has(u->f, second))
		u->used[second] = true;
	else if (!u->used[role]) {
		u->used[role] = true; /* so that it is reported only once */
		load_fail(u->l, u->f->at, "'%s' has no '%s'%s%s%s, which kind '%s' needs",
			u->f->symbol, role_name[role], second ? " (or '" : "",
			second ? role_name[second] : "", second ? "')" : "", u->f->kind->name);
	}
}

/* True if the C type of a buffer, such as float *send, determines the dtype. */
static bool has_typed_buffer(const struct use *u, const struct extent *e)
{
	uint8_t second = role_fallback(e->dtype);

	if (func_has(u->f, e->dtype) || (second != ROLE_NONE && func_has(u->f, second)))
		return false;
	for (unsigned i = 0; i < u->f->args.n; i++)
		if (u->f->args.item[i].role == e->buf)
			return u->f->args.item[i].type.dtype != 0 &&
			       (!u->f->args.item[i].type.points_pointer || e->form >= EXT_MATRIX);
	return false;
}

static void mark_term_used(struct use *u, uint8_t term)
{
	if (term == TERM_SIDE) {
		mark_role_used(u, ROLE_SIDE);
		mark_role_used(u, ROLE_M);
		mark_role_used(u, ROLE_N);
	} else if (term < ROLE_NROLES) {
		mark_role_used(u, term);
	}
}

static void record_extents(struct use *u, const struct extent *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const struct extent *e = &list[i];

		mark_role_used(u, e->buf);
		if (!has_typed_buffer(u, e))
			mark_role_used(u, e->dtype);
		mark_role_used(u, e->counts);
		mark_role_used(u, e->displs);
		mark_role_used(u, e->step);
		mark_role_used(u, e->trans);
		for (unsigned j = 0; j < e->nterm; j++)
			mark_term_used(u, e->term[j]);
		for (unsigned j = 0; j < e->noffset; j++)
			mark_role_used(u, e->offset[j] < ROLE_NROLES ? e->offset[j] : ROLE_NONE);
	}
}

static bool is_reducing_op(const char *op)
{
	return strstr(op, "reduce") || strstr(op, "scan") || strstr(op, "accumulate") ||
	       strstr(op, "fetch_and_op");
}

/*
 * For roles that only some kinds may have: reports the role if it is present and not wanted, or
 * wanted and absent.
 */
static void check_role_only_if(
	struct spec_load *l, const struct func *f, uint8_t role, bool wanted, const char *why)
{
	if (func_has(f, role) != wanted)
		load_fail(l, f->at, "'%s' %s '%s', but kind '%s' %s", f->symbol,
			wanted ? "has no" : "has", role_name[role], f->kind->name, why);
}

/* Roles that any function of linear algebra may have. */
static bool is_free_role(uint8_t role)
{
	return role == ROLE_ORDER || role == ROLE_ALPHA || role == ROLE_BETA;
}

static void kind_check(struct spec_load *l, const struct func *f)
{
	const struct kind *k = f->kind;
	struct use u = {.l = l, .f = f};
	bool both = strcmp(k->op, "send_recv") == 0;

	record_extents(&u, k->in, k->nin);
	record_extents(&u, k->out, k->nout);
	record_extents(&u, k->alt_in, k->alt_nin);
	for (unsigned i = 0; i < f->args.n; i++) {
		const struct param *p = &f->args.item[i];

		bool of_kind = (p->role >= ROLE_SEND && p->role <= ROLE_RDTYPES) ||
			       (p->role >= ROLE_ORDER && p->role <= ROLE_BETA);

		if (of_kind && !u.used[p->role] && !(k->local && is_free_role(p->role)))
			load_fail(l, p->at, "kind '%s' does not use '%s'", k->name, p->name);
	}
	check_role_only_if(l, f, ROLE_ROOT, k->rooted, k->rooted ? "is rooted" : "is not rooted");
	/*
	 * A function of a user's file may have only one reduction. If options contain the
	 * reduction, the adapter reads them.
	 */
	if (!(l->run_time || func_has(f, ROLE_ITEMS)) || !is_reducing_op(k->op))
		check_role_only_if(l, f, ROLE_OP, is_reducing_op(k->op),
			is_reducing_op(k->op) ? "reduces" : "does not reduce");
	if (k->collective || k->local)
		check_role_only_if(
			l, f, ROLE_PEER, false, k->local ? "has no peers" : "is collective");
	else if (k->nin + k->nout && !func_has(f, ROLE_ITEMS) && !func_has(f, ROLE_MESSAGE) &&
		 !func_has(f, ROLE_WIN))
		check_role_only_if(l, f, ROLE_PEER, true, "is point-to-point");
	if (!func_has(f, ROLE_ITEMS))
		check_role_only_if(l, f, ROLE_RPEER, both,
			both ? "sends and receives" : "has one peer at most");
	if (!l->run_time && !k->local && !func_has(f, ROLE_COMM) && !func_has(f, ROLE_GROUP) &&
		!func_has(f, ROLE_MESSAGE) && !func_has(f, ROLE_WIN) && !func_has(f, ROLE_ITEMS))
		load_fail(l, f->at, "'%s' has neither 'comm' nor 'group' nor 'win'", f->symbol);
	if (f->how)
		load_fail(l, f->at, "'%s': how belongs to task: comm_new", f->symbol);
}

static void task_check(struct spec_load *l, const struct func *f)
{
	const struct task_name *t = task_names;

	while (t->name[0] && (t->task != f->task || t->sub != f->sub))
		t++;
	for (unsigned i = 0; t->name[0] && i < sizeof(t->need) && t->need[i] != ROLE_NONE; i++)
		if (!func_has(f, t->need[i]))
			load_fail(l, f->at, "'%s' has no '%s', which task '%s' needs", f->symbol,
				role_name[t->need[i]], t->name);
	if (f->task == TASK_COMM_END && !func_has(f, ROLE_COMM) && !func_has(f, ROLE_COMMP))
		load_fail(l, f->at, "'%s' has neither 'comm' nor 'commp'", f->symbol);
	if (f->task == TASK_WIN_END && !func_has(f, ROLE_WIN) && !func_has(f, ROLE_WINP) &&
		!func_has(f, ROLE_NAME))
		load_fail(l, f->at, "'%s' has neither 'win' nor 'winp' nor 'name'", f->symbol);
	if (!f->how != (f->task != TASK_COMM_NEW && f->task != TASK_WIN_NEW))
		load_fail(l, f->at,
			f->how ? "'%s': how belongs to task: comm_new"
			       : "'%s' needs how: the kind of communicator (split, dup ...)",
			f->symbol);
	if (f->completion != DONE_RETURN && f->task != TASK_COMM_NEW)
		load_fail(l, f->at,
			"'%s': only rows with a kind and task: comm_new have a completion",
			f->symbol);
}

void row_check(struct spec_load *l, const struct func *f)
{
	if (l->run_time)
		user_row_check(l, f);
	sorts_check(l, f);
	if (f->kind)
		kind_check(l, f);
	else
		task_check(l, f);
	if ((f->completion == DONE_REQUEST || f->completion == DONE_START) &&
		!func_has(f, ROLE_REQUEST))
		load_fail(l, f->at, "'%s' has no 'request', which completion: %s needs", f->symbol,
			completion_name[f->completion]);
	if (f->completion == DONE_END && !func_has(f, ROLE_WIN))
		load_fail(l, f->at, "'%s' has no 'win', which completion: end needs", f->symbol);
	if (f->completion == DONE_STREAM && !func_has(f, ROLE_STREAM) && !func_has(f, ROLE_HANDLE))
		load_fail(l, f->at,
			"'%s' has no 'stream' (or 'handle'), which completion: stream needs",
			f->symbol);
}
