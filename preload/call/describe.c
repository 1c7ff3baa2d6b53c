/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From arguments to buffers. The kind of a call defines which roles make up its buffers
 * (configs/apis/kinds.yaml); the adapter explains handles. Nothing here depends on a library.
 */
#include "call/describe.h"

#include <string.h>

#include "call/comm.h"
#include "call/data/buffer_check.h"
#include "call/matrix.h"
#include "call/plan.h"
#include "call/record.h"
#include "api/roles.h"
#include "journal/layout.h"
#include "spec/enum_value.h"

/* A call's arguments by role, in a form that the compiler keeps in registers. */
struct args {
	const struct api_spec *s;
	const union arg *v;
	const struct comm *m;
};

static inline struct args get_args(const struct call *c)
{
	return (struct args){c->api->spec, c->v, c->op.comm};
}

static inline const union arg *get_role_arg(struct args a, unsigned role)
{
	unsigned i = find_argument_with_role(a.s, role);
	const union arg *v;

	if (!i)
		return NULL;
	v = a.v + (i - 1);
	/* The compiler need not compare the result with NULL. */
	if (!v)
		__builtin_unreachable();
	return v;
}

/* The i-th integer of an array of 4- or 8-byte integers. */
static int64_t read_array_element(const void *array, unsigned width, uint64_t i)
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

static uint64_t get_positive_or_zero(int64_t v)
{
	return v > 0 ? (uint64_t)v : 0;
}

static inline uint64_t compute_count(struct args args, uint8_t role)
{
	const union arg *a = get_role_arg(args, role);

	return a ? get_positive_or_zero(a->i) : 0;
}

/* Returns a term that comes from the communicator instead of an argument. */
static uint64_t get_comm_term(const struct comm *m, uint8_t t)
{
	if (!m)
		return 0;
	switch (t) {
	case TERM_SIZE:
		return (uint64_t)comm_get_peer_count(m);
	case TERM_LSIZE:
		return (uint64_t)m->size;
	case TERM_RANK:
		return (uint64_t)m->rank;
	case TERM_INDEGREE:
		return get_positive_or_zero(m->indegree);
	case TERM_OUTDEGREE:
		return get_positive_or_zero(m->outdegree);
	}
	return 0;
}

static inline uint64_t get_term_value(struct args args, uint8_t t)
{
	return t < ROLE_NROLES ? compute_count(args, t) : get_comm_term(args.m, t);
}

static inline uint64_t compute_terms_product(
	struct args args, const uint8_t *t, unsigned n, uint64_t none)
{
	uint64_t v = n ? get_term_value(args, t[0]) : none;

	for (unsigned i = 1; i < n; i++)
		if (__builtin_mul_overflow(v, get_term_value(args, t[i]), &v))
			return 0;
	return v;
}

static bool is_buffer_used(struct args args, enum extent_where where, enum root_is root)
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
	case ON_ALPHA:
	case ON_BETA:
		return is_factor_set(args.s, args.v, where);
	default:
		/* In an intercommunicator, only the root takes part in the root's group. */
		return !(args.s->kind->rooted && m && m->remote) || root == ROOT_OTHER;
	}
}

static inline bool is_buffer_here(struct args args, const struct extent *e, enum root_is root)
{
	return (e->where == ON_ALL && !args.s->kind->rooted) ||
	       is_buffer_used(args, e->where, root);
}

/* The dtype of the latest buffer, which the next buffer is likely to share. */
struct shared {
	const union arg *dtype; /* the argument that `desc` was read from; NULL: none yet */
	struct dtype_desc desc;
};

static inline void reset_dtype(struct dtype_desc *d)
{
	d->size = 0;
	d->extent = 0;
	d->dtype = DT_OTHER;
	d->derived = false;
}

/*
 * Not inlined: libraries whose handles are not enums pay only a comparison for it. No value of an
 * enum has more than 32 bits.
 */
__attribute__((noinline)) static void read_listed_dtype(
	const struct spec_values *list, uint64_t value, struct dtype_desc *d)
{
	if (list)
		set_plain_dtype(d, spec_value_find(list, (int32_t)value, DT_OTHER));
}

static inline void read_dtype(const struct adapter *lib, uint64_t value, struct dtype_desc *d)
{
	if (lib->dtype)
		lib->dtype(value, d);
	else
		read_listed_dtype(lib->dtypes, value, d);
}

__attribute__((noinline)) static void read_listed_redop(
	const struct spec_values *list, uint64_t value, struct operation *w)
{
	if (list)
		w->redop = spec_value_find(list, (int32_t)value, REDOP_USER);
}

static inline void find_dtype(struct args args, const struct extent *e, struct shared *k)
{
	const struct api_spec *s = args.s;
	const union arg *a = get_role_arg(args, e->dtype);
	struct dtype_desc *d = &k->desc;

	if (a && a == k->dtype)
		return;
	k->dtype = a;
	reset_dtype(d);
	if (a)
		read_dtype(s->lib, a->u, d);
	else
		set_plain_dtype(d, s->buf_dtype[e->buf]);
}

static void set_type(struct call *c, struct buffer *v, const struct dtype_desc *d)
{
	v->dtype = d->dtype;
	v->unit = d->extent;
	v->bytes = v->count * d->size;
	if (d->dtype == DT_OTHER)
		v->nostats = 1;
	if (d->derived)
		c->op.flags |= CF_DERIVED;
}

/*
 * Segments with one dtype each, displacements in bytes. They are measured only if all segments with elements have the
 * same type.
 */
static void set_typed_segments(struct call *c, const struct extent *e, struct buffer *v)
{
	const union arg *types = get_role_arg(get_args(c), e->dtype);
	struct dtype_desc d = {.dtype = DT_OTHER}, first = d;
	const struct adapter *lib = c->api->spec->lib;
	bool same = true, any = false;

	v->count = v->bytes = 0;
	for (uint64_t i = 0; types && i < v->n; i++) {
		uint64_t k = get_positive_or_zero(read_array_element(v->counts, v->width, i));

		if (!k)
			continue;
		read_dtype(lib, lib->handle_at(types->cp, i), &d);
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
		c->op.flags |= CF_DERIVED;
}

static void set_segment_arrays(struct args args, const struct extent *e, struct buffer *v)
{
	const union arg *counts = get_role_arg(args, e->counts),
			*displs = get_role_arg(args, e->displs);

	v->counts = counts ? counts->cp : NULL;
	v->displs = displs ? displs->cp : NULL;
	v->width = counts ? args.s->args[counts - args.v].elem_bytes : 4;
	v->dwidth = displs ? args.s->args[displs - args.v].elem_bytes : 0;
	v->n = (uint32_t)get_term_value(args, e->length ? e->length : TERM_SIZE);
	if (!v->counts)
		v->n = 0;
}

/* For extents with arrays. Returns false if the buffer is not used on this rank. */
static bool set_array_buffer(
	struct call *c, const struct extent *e, struct buffer *v, struct shared *k)
{
	struct args args = get_args(c);

	if (e->form >= EXT_MATRIX) {
		find_dtype(args, e, k);
		describe_matrix_buffer(c, e, v);
		set_type(c, v, &k->desc);
		return true;
	}
	set_segment_arrays(args, e, v);
	if (e->form == EXT_TYPED_SEGMENTS) {
		v->layout = BUFFER_SEGMENTS;
		set_typed_segments(c, e, v);
		return true;
	}
	find_dtype(args, e, k);
	switch (e->form) {
	case EXT_SUM:
	case EXT_SEGMENTS:
		for (uint64_t i = 0; i < v->n; i++)
			v->count +=
				get_positive_or_zero(read_array_element(v->counts, v->width, i));
		if (e->form == EXT_SEGMENTS && v->displs)
			v->layout = BUFFER_SEGMENTS;
		break;
	case EXT_AT_RANK:
	case EXT_SEGMENT_AT_RANK: {
		uint64_t r = get_term_value(args, TERM_RANK);

		if (r < v->n)
			v->count = get_positive_or_zero(read_array_element(v->counts, v->width, r));
		if (r < v->n && e->form == EXT_SEGMENT_AT_RANK && v->displs)
			v->base = (const char *)v->base +
				  read_array_element(v->displs, v->dwidth, r) * k->desc.extent;
		break;
	}
	default:
		return false;
	}
	set_type(c, v, &k->desc);
	return true;
}

/*
 * Sets field by field, because compilers clear a struct of this size with a string instruction
 * that takes longer than all this. Fields that a contiguous view does not use are not set. The
 * caller sets count, bytes and dtype.
 */
static inline void init_buffer(struct buffer *v, const void *base)
{
	v->base = base;
	v->layout = BUFFER_CONTIG;
	v->nostats = v->host = 0;
	v->ndim = JOURNAL_NDIM_NONE;
	v->peer = v->tag = JOURNAL_NONE;
	v->comm_seq = JOURNAL_NONE64;
	v->snapshot = 0;
	v->name = 0;
}

/* Sets *v to the buffer of extent e. Returns false if this rank does not use the buffer. */
static inline bool set_buffer(struct call *c, struct args args, const struct extent *e,
	struct buffer *v, struct shared *k)
{
	const union arg *buf = get_role_arg(args, e->buf);

	if (!buf)
		return false;
	init_buffer(v, buf->cp);
	v->count = v->bytes = 0;
	v->dtype = DT_OTHER;
	if (__builtin_expect(e->form != EXT_PRODUCT, 0))
		return set_array_buffer(c, e, v, k);
	find_dtype(args, e, k);
	v->count = compute_terms_product(args, e->term, e->nterm, 1);
	if (e->noffset)
		v->base = (const char *)v->base +
			  (int64_t)compute_terms_product(args, e->offset, e->noffset, 0) *
				  k->desc.extent;
	set_type(c, v, &k->desc);
	return true;
}

static inline void read_planned_dtype(struct call *c, const struct adapter *lib,
	const struct plain_buffer *b, struct dtype_desc *d)
{
	reset_dtype(d);
	read_dtype(lib, c->v[b->dtype].u, d);
	if (d->derived)
		c->op.flags |= CF_DERIVED;
}

static inline __attribute__((always_inline)) void set_planned_buffer(struct buffer *v,
	const union arg *args, const struct plain_buffer *b, const struct dtype_desc *d,
	enum tensor_io io, unsigned index)
{
	init_buffer(v, args[b->buf].cp);
	v->nostats = d->dtype == DT_OTHER;
	v->count = get_positive_or_zero(args[b->count].i);
	v->index = (uint16_t)index;
	v->dtype = d->dtype;
	v->io = (uint8_t)io;
	v->unit = d->extent;
	v->bytes = v->count * d->size;
}

__attribute__((noinline)) static void set_buffers_of_several_dtypes(
	struct call *c, const struct adapter *lib, const struct plan *p)
{
	struct operation *w = &c->op;
	struct dtype_desc d;

	for (unsigned i = 0; i < p->nin + p->nout; i++) {
		const struct plain_buffer *b = &p->buffer[i];
		unsigned index = i < p->nin ? i : i - p->nin;

		read_planned_dtype(c, lib, b, &d);
		if (i < p->nin)
			set_planned_buffer(&w->in[index], c->v, b, &d, IO_IN, index);
		else
			set_planned_buffer(&w->out[index], c->v, b, &d, IO_OUT, index);
	}
}

static inline __attribute__((always_inline)) void set_planned_buffers(
	struct call *c, const struct adapter *lib, const struct plan *p)
{
	const struct plain_buffer *b = p->buffer;
	struct operation *w = &c->op;
	const union arg *args = c->v;
	unsigned nin = p->nin, nout = p->nout;
	struct dtype_desc d;

	w->nin = (uint16_t)nin;
	w->nout = (uint16_t)nout;
	if (__builtin_expect(!p->one_dtype, 0)) {
		set_buffers_of_several_dtypes(c, lib, p);
		return;
	}
	read_planned_dtype(c, lib, b, &d);
	for (unsigned i = 0; i < nin; i++)
		set_planned_buffer(&w->in[i], args, b++, &d, IO_IN, i);
	for (unsigned i = 0; i < nout; i++)
		set_planned_buffer(&w->out[i], args, b++, &d, IO_OUT, i);
}

/* True if the program passes, for one of the buffers, the value that means "the other buffer". */
static bool is_in_place(struct args args)
{
	const int64_t *sentinel = args.s->lib->in_place;
	unsigned role = args.s->kind->alt_buf;
	const union arg *a = sentinel && role ? get_role_arg(args, role) : NULL;

	return a && a->i == *sentinel;
}

static void set_extent_buffers(struct call *c, enum root_is root, bool in_place)
{
	const struct kind *k = c->api->spec->kind;
	const struct args args = get_args(c);
	struct operation *w = &c->op;
	const struct extent *e = k->in;
	struct buffer *v = w->in;
	unsigned left = k->nin, nout = k->nout, n[2] = {0, 0};
	struct shared shared;

	shared.dtype = NULL;
	if (in_place) {
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
			if (!is_buffer_here(args, e, root) || !set_buffer(c, args, e, v, &shared))
				continue;
			v->io = (uint8_t)io;
			v->index = (uint16_t)n[io]++;
			v++;
		}
		e = k->out;
		v = w->out;
		left = nout;
	}
	w->nin = (uint16_t)n[IO_IN];
	w->nout = (uint16_t)n[IO_OUT];
}

/* Makes the inputs, then the outputs. */
static void set_matrix_buffers(struct call *c)
{
	const struct kind *k = c->api->spec->kind;
	const struct args args = get_args(c);
	struct operation *w = &c->op;
	struct buffer *v = w->views;
	struct shared shared;

	shared.dtype = NULL;
	w->all_in = v;
	for (unsigned i = 0; i < k->nin; i++)
		if (is_buffer_here(args, &k->in[i], ROOT_OTHER) &&
			set_buffer(c, args, &k->in[i], v, &shared)) {
			v->io = IO_IN;
			v++->index = w->nin++;
		}
	w->all_out = v;
	for (unsigned i = 0; i < k->nout; i++)
		if (set_buffer(c, args, &k->out[i], v, &shared)) {
			v->io = IO_OUT;
			v++->index = w->nout++;
		}
	check_matrices(w);
}

/* Libraries without a value for "in place": the program passes the same memory twice. */
static inline void check_for_same_memory(struct operation *w, const struct adapter *lib)
{
	if (!lib->in_place && w->nin && w->nout && is_buffer_overlap(&w->in[0], &w->out[0]))
		w->flags |= CF_INPLACE;
}

__attribute__((noinline)) static void set_unplanned_buffers(struct call *c, enum root_is root)
{
	if (c->api->spec->kind->local) {
		set_matrix_buffers(c);
		return;
	}
	set_extent_buffers(c, root, is_in_place(get_args(c)));
	check_for_same_memory(&c->op, c->api->spec->lib);
}

/* Returns the row's plan if the call has the common form, else NULL. */
static inline const struct plan *get_usable_plan(const struct call *c, const struct adapter *lib)
{
	const struct plan *p = plan_get(c->api);

	return p && p->in_place && c->v[p->in_place - 1].i == *lib->in_place ? NULL : p;
}

/* Sets peer, tag and message number of the sent and of the received message of a point-to-point call. */
static void set_peers_and_tags(struct call *c)
{
	const struct adapter *lib = c->api->spec->lib;
	struct operation *w = &c->op;
	struct args args = get_args(c);
	const union arg *peer[2] = {get_role_arg(args, ROLE_PEER), get_role_arg(args, ROLE_RPEER)};
	const union arg *tag[2] = {get_role_arg(args, ROLE_TAG), get_role_arg(args, ROLE_RTAG)};
	bool both = c->api->spec->at[ROLE_RPEER] != 0;

	w->unnumbered = !(c->word & API_NUMBERED);
	for (int side = 0; side < 2; side++) {
		struct buffer *v = side ? w->out : w->in;
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
		v->tag = t >= 0 ? t : JOURNAL_NONE; /* a wildcard, until the message has arrived */
		/*
		 * A wildcard receive is numbered when the sender is known. A persistent receive
		 * is not a message yet: each start gets a new number (async_open_start).
		 */
		if (!w->unnumbered && w->comm && p != PEER_ANY && (t >= 0 || !tag[side]))
			v->comm_seq =
				c->api->spec->completion == DONE_START
					? 0
					: comm_get_next_p2p(w->comm, side == 0, p, t >= 0 ? t : 0);
		if (!both) {
			w->peer = v->peer;
			w->tag = v->tag;
		}
	}
}

/* Sets the target rank of a one-sided call. A null target means that the call moves no data. */
static void set_target_rank(struct call *c)
{
	const struct adapter *lib = c->api->spec->lib;
	const union arg *peer = get_role_arg(get_args(c), ROLE_PEER),
			*op = get_role_arg(get_args(c), ROLE_OP);
	struct operation *w = &c->op;
	int p;

	if (op && lib->reads_nothing && lib->reads_nothing(op->u))
		w->nin = 0;
	if (!peer)
		return;
	p = lib->peer ? lib->peer(peer->i) : (int)peer->i;
	if (p == PEER_NULL) {
		w->nin = w->nout = 0;
		return;
	}
	w->peer = p;
	for (unsigned i = 0; i < w->nin; i++)
		w->in[i].peer = p;
	for (unsigned i = 0; i < w->nout; i++)
		w->out[i].peer = p;
}

static bool read_by_adapter(struct call *c)
{
	struct operation *w = &c->op;

	w->comm = NULL;
	w->flags = 0;
	w->root = w->peer = w->tag = JOURNAL_NONE;
	w->redop = REDOP_NONE;
	w->phase = 0;
	w->nin = w->nout = 0;
	w->all_in = w->all_out = NULL;
	w->output_limit = 0;
	w->on_device = false;
	if (!c->api->spec->lib->describe(c))
		return false;
	operation_remove_excess(w);
	return true;
}

/* Sets c->op.root, and returns what this rank is to the root. */
static enum root_is read_root_rank(struct call *c, const struct adapter *lib, int64_t value)
{
	struct operation *w = &c->op;
	enum root_is root;
	int r = JOURNAL_NONE;

	if (lib->root) {
		root = lib->root(w->comm, value, &r);
		w->root = r;
		return root;
	}
	w->root = (int32_t)value;
	return w->comm && w->comm->rank == w->root ? ROOT_ME : ROOT_OTHER;
}

/* Inlined into describe_call(), whose arguments are in registers. */
static inline __attribute__((always_inline)) void read_simple_call(struct call *c,
	const struct api_spec *s, const struct adapter *lib, const union arg *v, struct comm *comm)
{
	const struct plan *plan = get_usable_plan(c, lib);
	struct operation *w = &c->op;
	struct args args = {s, v, NULL};
	const union arg *a;

	w->comm = comm;
	w->flags = comm ? comm->flags : 0;
	w->root = w->peer = w->tag = JOURNAL_NONE;
	w->redop = REDOP_NONE;
	w->phase = 0;
	w->nin = w->nout = 0;
	w->all_in = w->all_out = NULL;
	w->output_limit = 0;
	w->on_device = false;
	a = get_role_arg(args, ROLE_OP);
	if (a && lib->redop)
		w->redop = (uint8_t)lib->redop(a->u);
	else if (a)
		read_listed_redop(lib->redops, a->u, w);
	/*
	 * Without a communicator, extents that depend on its size or on the root cannot be
	 * computed.
	 */
	bool known = comm || !(s->at[ROLE_COMM] || s->at[ROLE_GROUP] || lib->one_comm);

	/* A kind with a root has no plan. */
	if (__builtin_expect(plan && known, 1)) {
		set_planned_buffers(c, lib, plan);
		check_for_same_memory(w, lib);
	} else {
		enum root_is root = ROOT_OTHER;

		a = get_role_arg(args, ROLE_ROOT);
		if (a && s->kind->rooted)
			root = read_root_rank(c, lib, a->i);
		if (known)
			set_unplanned_buffers(c, root);
	}
	if (lib->unsure) {
		check_buffers(w->in, w->nin);
		check_buffers(w->out, w->nout);
	}
	if (s->at[ROLE_WIN])
		set_target_rank(c);
	else if (!s->kind->collective && !s->kind->local)
		set_peers_and_tags(c);
}

void describe_by_kind(struct call *c, struct comm *comm)
{
	const struct api_spec *s = c->api->spec;

	read_simple_call(c, s, s->lib, c->v, comm);
}

static inline struct comm *find_described_comm(const struct adapter *lib, const union arg *a)
{
	if (!a && !lib->one_comm)
		return NULL;
	return lib->comm ? lib->comm(a ? a->u : 0) : a ? comm_find(lib, a->u) : NULL;
}

bool describe_call(struct call *c)
{
	const struct api_spec *s = c->api->spec;
	const struct adapter *lib = s->lib;
	const union arg *v = c->v, *a = get_role_arg((struct args){s, v, NULL}, ROLE_COMM);

	if (lib->describe)
		return read_by_adapter(c);
	if (__builtin_expect(s->at[ROLE_WIN] != 0, 0) && lib->window)
		describe_by_kind(c, lib->window(v[s->at[ROLE_WIN] - 1].u));
	else
		read_simple_call(c, s, lib, v, find_described_comm(lib, a));
	return true;
}
