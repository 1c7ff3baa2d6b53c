/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments to buffers: the kind of a call says which roles make up its buffers (configs/apis/kinds.yaml), the
 * adapter what handles mean. Nothing here depends on a library.
 */
#include "call/describe.h"

#include <string.h>

#include "base/hash.h"
#include "call/comm.h"
#include "journal/layout.h"
#include "stack/memory.h"

/* A role that a function lacks is played by another one, which has no substitute of its own. */
static const uint8_t stand_in[ROLE_NROLES] = {
	[ROLE_SCOUNT] = ROLE_COUNT,
	[ROLE_RCOUNT] = ROLE_COUNT,
	[ROLE_SDTYPE] = ROLE_DTYPE,
	[ROLE_RDTYPE] = ROLE_DTYPE,
	[ROLE_RPEER] = ROLE_PEER,
	[ROLE_RTAG] = ROLE_TAG,
};

/* A call's arguments by role, in a form that stays in registers. */
struct args {
	const struct api_spec *s;
	const union arg *v;
	const struct comm *m;
};

static inline struct args args_of(const struct call *c)
{
	return (struct args){c->api->spec, c->v, c->what.comm};
}

static inline const union arg *arg(struct args a, unsigned role)
{
	unsigned i = a.s->at[role];

	if (!i && stand_in[role])
		i = a.s->at[stand_in[role]];
	return i ? a.v + i - 1 : NULL;
}

/* i-th integer of an array of 4- or 8-byte integers. */
static int64_t at(const void *array, unsigned width, uint64_t i)
{
	if (width == 8) {
		int64_t v;

		memcpy(&v, (const char *)array + 8 * i, 8);
		return v;
	}

	int32_t v;

	memcpy(&v, (const char *)array + 4 * i, 4);
	return v;
}

static uint64_t positive(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

static inline uint64_t count_of(struct args args, uint8_t role)
{
	const union arg *a = arg(args, role);

	return a ? positive(a->i) : 0;
}

/* Of a communicator, not of an argument. */
static uint64_t comm_term(const struct comm *m, uint8_t t)
{
	if (!m)
		return 0;
	switch (t) {
	case TERM_SIZE:
		return (uint64_t)comm_peers(m);
	case TERM_LSIZE:
		return (uint64_t)m->size;
	case TERM_RANK:
		return (uint64_t)m->rank;
	case TERM_INDEGREE:
		return positive(m->indegree);
	case TERM_OUTDEGREE:
		return positive(m->outdegree);
	}
	return 0;
}

static inline uint64_t term(struct args args, uint8_t t)
{
	return t < ROLE_NROLES ? count_of(args, t) : comm_term(args.m, t);
}

static inline uint64_t product(struct args args, const uint8_t *t, unsigned n, uint64_t none)
{
	uint64_t v = n ? term(args, t[0]) : none;

	for (unsigned i = 1; i < n; i++)
		if (__builtin_mul_overflow(v, term(args, t[i]), &v))
			return 0;
	return v;
}

static bool here_too(struct args args, enum extent_where where, enum root_is root)
{
	const struct comm *m = args.m;

	switch (where) {
	case ON_ROOT:
		return root == ROOT_ME;
	case ON_LEAF:
		return root == ROOT_OTHER;
	case ON_NOT_FIRST:
		return m && m->rank != 0;
	case ON_SENDER:
		return m && m->outdegree > 0;
	default:
		/* In an intercommunicator the root's group takes part through its root only. */
		return !(args.s->kind->rooted && m && m->remote) || root == ROOT_OTHER;
	}
}

static inline bool here(struct args args, const struct extent *e, enum root_is root)
{
	return (e->where == ON_ALL && !args.s->kind->rooted) || here_too(args, e->where, root);
}

/* The dtype of a buffer, which the next buffer is likely to have too. */
struct shared {
	const union arg *dtype; /* the argument that `desc` was made of; NULL: none yet */
	struct dtype_desc desc;
};

static inline void dtype_of(struct args args, const struct extent *e, struct shared *k)
{
	const struct api_spec *s = args.s;
	const union arg *a = arg(args, e->dtype);
	struct dtype_desc *d = &k->desc;

	if (a && a == k->dtype)
		return;
	k->dtype = a;
	d->size = 0;
	d->extent = 0;
	d->dtype = DT_OTHER;
	d->derived = false;
	if (a && s->lib->dtype) {
		s->lib->dtype(a->u, d);
	} else if (!a) {
		d->dtype = s->buf_dtype[e->buf];
		d->size = dtype_info(d->dtype)->size;
		d->extent = (int64_t)d->size;
	}
}

static void set_type(struct call *c, struct view *v, const struct dtype_desc *d)
{
	v->dtype = d->dtype;
	v->unit = d->extent;
	v->bytes = v->count * d->size;
	if (d->dtype == DT_OTHER)
		v->nostats = 1;
	if (d->derived)
		c->what.flags |= CF_DERIVED;
}

/* Segments with a dtype each, displacements in bytes: measured only if all that hold elements are of one type. */
static void typed_segments(struct call *c, const struct extent *e, struct view *v)
{
	const union arg *types = arg(args_of(c), e->dtype);
	struct dtype_desc d = {.dtype = DT_OTHER}, first = d;
	const struct lib *lib = c->api->spec->lib;
	bool same = true, any = false;

	v->count = v->bytes = 0;
	for (uint64_t i = 0; types && i < v->n; i++) {
		uint64_t k = positive(at(v->counts, v->width, i));

		if (!k)
			continue;
		lib->dtype(lib->handle_at(types->cp, i), &d);
		if (!any)
			first = d;
		same &= d.dtype == first.dtype && d.size == first.size;
		any = true;
		v->count += k;
		v->bytes += k * d.size;
	}
	v->dtype = same ? first.dtype : DT_OTHER;
	v->unit = 1;
	v->nostats = v->dtype == DT_OTHER;
	if (any && (!same || first.derived))
		c->what.flags |= CF_DERIVED;
}

static void arrays(struct args args, const struct extent *e, struct view *v)
{
	const union arg *counts = arg(args, e->counts), *displs = arg(args, e->displs);

	v->counts = counts ? counts->cp : NULL;
	v->displs = displs ? displs->cp : NULL;
	v->width = counts ? args.s->args[counts - args.v].elem : 4;
	v->dwidth = displs ? args.s->args[displs - args.v].elem : 0;
	v->n = (uint32_t)term(args, e->length ? e->length : TERM_SIZE);
	if (!v->counts)
		v->n = 0;
}

/* The forms of extents with arrays. False: the buffer takes no part on this rank. */
static bool array_view(struct call *c, const struct extent *e, struct view *v, struct shared *k)
{
	struct args args = args_of(c);

	arrays(args, e, v);
	if (e->form == EXT_TYPED_SEGMENTS) {
		v->layout = VIEW_SEGMENTS;
		typed_segments(c, e, v);
		return true;
	}
	dtype_of(args, e, k);
	switch (e->form) {
	case EXT_SUM:
	case EXT_SEGMENTS:
		for (uint64_t i = 0; i < v->n; i++)
			v->count += positive(at(v->counts, v->width, i));
		if (e->form == EXT_SEGMENTS && v->displs)
			v->layout = VIEW_SEGMENTS;
		break;
	case EXT_AT_RANK:
	case EXT_SEGMENT_AT_RANK: {
		uint64_t r = term(args, TERM_RANK);

		if (r < v->n)
			v->count = positive(at(v->counts, v->width, r));
		if (r < v->n && e->form == EXT_SEGMENT_AT_RANK && v->displs)
			v->base = (const char *)v->base +
				  at(v->displs, v->dwidth, r) * k->desc.extent;
		break;
	}
	default:
		return false;
	}
	set_type(c, v, &k->desc);
	return true;
}

/* Fills *v in. False: the buffer takes no part on this rank. */
static inline bool make_view(
	struct call *c, struct args args, const struct extent *e, struct view *v, struct shared *k)
{
	const union arg *buf = arg(args, e->buf);

	if (!buf)
		return false;
	/*
	 * Field by field: compilers clear a struct of this size with a string instruction that takes longer than all
	 * this. What a contiguous view does not use is not set.
	 */
	v->base = buf->cp;
	v->count = v->bytes = 0;
	v->dtype = DT_OTHER;
	v->layout = VIEW_CONTIG;
	v->nostats = v->host = 0;
	v->shot = 0;
	v->ndim = JOURNAL_NDIM_NONE;
	v->peer = v->tag = JOURNAL_NONE;
	v->comm_seq = JOURNAL_NONE64;
	if (__builtin_expect(e->form != EXT_PRODUCT, 0))
		return array_view(c, e, v, k);
	dtype_of(args, e, k);
	v->count = product(args, e->term, e->nterm, 1);
	if (e->noffset)
		v->base = (const char *)v->base +
			  (int64_t)product(args, e->offset, e->noffset, 0) * k->desc.extent;
	set_type(c, v, &k->desc);
	return true;
}

static void views(struct call *c, enum root_is root)
{
	const struct kind *k = c->api->spec->kind;
	const struct args args = args_of(c);
	struct what *w = &c->what;
	const struct extent *e = k->in;
	struct view *v = w->in;
	unsigned left = k->nin, nout = k->nout, n[2] = {0, 0};
	const union arg *alt = k->alt_buf ? arg(args, k->alt_buf) : NULL;
	bool (*sentinel)(const void *) = args.s->lib->in_place;
	struct shared shared;

	shared.dtype = NULL;
	if (alt && sentinel && sentinel(alt->cp)) {
		w->flags |= CF_INPLACE;
		if (k->alt_no_out) {
			nout = 0;
		} else {
			e = k->alt_in;
			left = k->alt_nin;
		}
	}
	for (int io = IO_IN; io <= IO_OUT; io++) {
		for (; left; left--, e++) {
			if (!here(args, e, root) || !make_view(c, args, e, v, &shared))
				continue;
			v->io = (uint8_t)io;
			v->index = (uint16_t)n[io]++;
			v++;
		}
		e = k->out;
		v = w->out;
		left = nout;
	}
	w->nin = (uint8_t)n[IO_IN];
	w->nout = (uint8_t)n[IO_OUT];
	/* Libraries without a sentinel say it by passing the same memory. */
	if (!sentinel && w->nin && w->nout && view_overlap(&w->in[0], &w->out[0]))
		w->flags |= CF_INPLACE;
}

/* Peers, tags and message numbers of the two sides of a point-to-point call. */
static void point_to_point(struct call *c)
{
	const struct lib *lib = c->api->spec->lib;
	struct what *w = &c->what;
	struct args args = args_of(c);
	const union arg *peer[2] = {arg(args, ROLE_PEER), arg(args, ROLE_RPEER)};
	const union arg *tag[2] = {arg(args, ROLE_TAG), arg(args, ROLE_RTAG)};
	bool both = c->api->spec->at[ROLE_RPEER] != 0;

	for (int side = 0; side < 2; side++) {
		struct view *v = side ? w->out : w->in;
		uint16_t *n = side ? &w->nout : &w->nin;
		int p = peer[side] ? lib->peer ? lib->peer(peer[side]->i) : (int)peer[side]->i
				   : PEER_ANY;
		int32_t t = tag[side] ? (int32_t)tag[side]->i : JOURNAL_NONE;

		if (!*n)
			continue;
		if (p == PEER_NULL) {
			*n = 0;
			continue;
		}
		v->peer = p == PEER_ANY ? JOURNAL_NONE : p;
		v->tag = t >= 0 ? t : JOURNAL_NONE; /* a wildcard, until the message is there */
		/*
		 * A wildcard receive gets its number when it is known whose message it was. A persistent one is no
		 * message yet: each start draws a number of its own (async_restart).
		 */
		if (w->comm && p != PEER_ANY && (t >= 0 || !tag[side]))
			v->comm_seq =
				c->api->spec->completion == DONE_START
					? 0
					: comm_next_p2p(w->comm, side == 0, p, t >= 0 ? t : 0);
		if (!both) {
			w->peer = v->peer;
			w->tag = v->tag;
		}
	}
}

static bool describe_own(struct call *c)
{
	struct what *w = &c->what;

	w->comm = NULL;
	w->flags = 0;
	w->root = w->peer = w->tag = JOURNAL_NONE;
	w->redop = REDOP_NONE;
	w->phase = 0;
	w->nin = w->nout = 0;
	w->all_in = w->all_out = NULL;
	w->out_room = 0;
	if (!c->api->spec->lib->describe(c))
		return false;
	what_fit(w);
	return true;
}

/*
 * Can this page be read? Asked of the kernel once in 4096 times: buffers are used again and again. The low bits of a
 * place count how often its page is still believed; places are shared by pages and taken over without regard, and two
 * threads that lose each other's count only ask more often.
 */
static bool believed(uintptr_t page)
{
	static _Atomic uintptr_t places[64];
	_Atomic uintptr_t *p = &places[hash_mix(page) % 64];
	uintptr_t v = atomic_load_explicit(p, memory_order_relaxed);

	if ((v & ~(MEMORY_PAGE - 1)) == page && v != page) {
		atomic_store_explicit(p, v - 1, memory_order_relaxed);
		return true;
	}
	if (!memory_readable(page))
		return false;
	atomic_store_explicit(p, page + MEMORY_PAGE - 1, memory_order_relaxed);
	return true;
}

/* Takes the statistics from buffers that do not seem to be where the spec says. */
static void doubt(struct view *v, unsigned n)
{
	for (; n; n--, v++) {
		uintptr_t first = (uintptr_t)v->base, last = first + v->bytes - 1;

		if (v->layout != VIEW_CONTIG || !v->bytes || v->nostats)
			continue;
		if (last < first || !believed(first & ~(MEMORY_PAGE - 1)) ||
			!believed(last & ~(MEMORY_PAGE - 1)))
			v->nostats = 1;
	}
}

bool describe(struct call *c)
{
	const struct api_spec *s = c->api->spec;
	const struct lib *lib = s->lib;
	struct what *w = &c->what;
	struct args args = {s, c->v, NULL};
	const union arg *a = arg(args, ROLE_COMM);
	enum root_is root = ROOT_OTHER;

	if (lib->describe)
		return describe_own(c);

	w->comm = lib->comm && (a || lib->one_comm) ? lib->comm(a ? a->u : 0) : NULL;
	w->flags = w->comm ? w->comm->flags : 0;
	w->root = w->peer = w->tag = JOURNAL_NONE;
	w->redop = REDOP_NONE;
	w->phase = 0;
	w->nin = w->nout = 0;
	w->all_in = w->all_out = NULL;
	w->out_room = 0;
	a = arg(args, ROLE_OP);
	if (a && lib->redop)
		w->redop = (uint8_t)lib->redop(a->u);
	a = arg(args, ROLE_ROOT);
	if (a && s->kind->rooted) {
		if (lib->root) {
			int r = JOURNAL_NONE;

			root = lib->root(w->comm, a->i, &r);
			w->root = r;
		} else {
			w->root = (int32_t)a->i;
			root = w->comm && w->comm->rank == w->root ? ROOT_ME : ROOT_OTHER;
		}
	}
	/* Without a communicator extents that depend on its size or on who is root would be guesses. */
	if (w->comm || !(s->at[ROLE_COMM] || lib->one_comm))
		views(c, root);
	if (lib->unsure) {
		doubt(w->in, w->nin);
		doubt(w->out, w->nout);
	}
	if (!s->kind->collective)
		point_to_point(c);
	return true;
}
