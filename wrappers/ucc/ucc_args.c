/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ucc_coll_args_t. Counts are totals of a whole buffer. With the flag "in place" the data
 * are in the destination; for an all-gather and a reduce-scatter that is this rank's part, at its
 * own offset.
 */
#include "wrappers/ucc/ucc.h"

#include <string.h>

#include "call/comm.h"
#include "journal/layout.h"
#include "spec/enum_value.h"
#include "ucc_gen.h"

/* src or dst: one buffer, or one in parts. The layout of ucc.h 1.0 to 1.5. */
union side {
	struct {
		void *buffer;
		uint64_t count, dtype;
		int32_t memory;
	} one;
	struct {
		void *buffer;
		const void *counts, *displs;
		uint64_t dtype;
		int32_t memory;
	} parts;
};

struct coll_args {
	uint64_t mask;
	uint32_t type;
	union side src, dst;
	int32_t op;
	uint64_t flags, root;
};
_Static_assert(offsetof(struct coll_args, src) == 16 && offsetof(struct coll_args, dst) == 56 &&
		       offsetof(struct coll_args, op) == 96 &&
		       offsetof(struct coll_args, root) == 112,
	"ucc_coll_args_t");

enum { ARGS_HAVE_FLAGS = 1, IN_PLACE = 1, WIDE_COUNTS = 4, WIDE_DISPLS = 8 };

enum {
	ALLGATHER,
	ALLGATHERV,
	ALLREDUCE,
	ALLTOALL,
	ALLTOALLV,
	BARRIER,
	BCAST,
	FANIN,
	FANOUT,
	GATHER,
	GATHERV,
	REDUCE,
	REDUCE_SCATTER,
	REDUCE_SCATTERV,
	SCATTER,
	SCATTERV
};

unsigned ucc_get_coll_bit(const void *args)
{
	uint32_t type = ((const struct coll_args *)args)->type;

	return type ? (unsigned)__builtin_ctz(type) : 32;
}

void ucc_read_dtype(uint64_t value, struct dtype_desc *d)
{
	/* A UCC datatype has 64 bits, of which some may be a pointer: it is no C enum. */
	set_plain_dtype(d, spec_value_find(&ucc_dtypes, (int64_t)value, DT_OTHER));
}

/* State of reading one ucc_coll_args_t. */
struct reading {
	const struct coll_args *a;
	struct operation *w;
	uint64_t flags;
};

static struct buffer *add_buffer(struct reading *r, bool out, void *base, uint64_t dtype)
{
	struct operation *w = r->w;
	uint16_t *n = out ? &w->nout : &w->nin;
	struct buffer *v = (out ? w->out : w->in) + *n;
	struct dtype_desc d;

	ucc_read_dtype(dtype, &d);
	*v = (struct buffer){.base = base,
		.unit = d.extent,
		.dtype = d.dtype,
		.nostats = d.dtype == DT_OTHER,
		.io = out ? IO_OUT : IO_IN,
		.index = (*n)++,
		.ndim = JOURNAL_NDIM_NONE,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64};
	return v;
}

static void set_count(struct buffer *v, uint64_t count)
{
	v->count = count;
	v->bytes = count * (uint64_t)v->unit;
}

/* Adds part i of the buffer, divided into n equal parts; all of it if n is 0. */
static void add_one_side(struct reading *r, bool out, const union side *s, uint64_t i, uint64_t n)
{
	struct buffer *v = add_buffer(r, out, s->one.buffer, s->one.dtype);
	uint64_t count = n ? s->one.count / n : s->one.count;

	v->base = (const char *)v->base + i * count * (uint64_t)v->unit;
	set_count(v, count);
}

static uint64_t get_count_at(const struct reading *r, const union side *s, uint32_t i)
{
	return r->flags & WIDE_COUNTS ? ((const uint64_t *)s->parts.counts)[i]
				      : ((const uint32_t *)s->parts.counts)[i];
}

static void add_side_parts(struct reading *r, bool out, const union side *s)
{
	struct buffer *v = add_buffer(r, out, s->parts.buffer, s->parts.dtype);
	uint64_t sum = 0;

	v->n = s->parts.counts ? (uint32_t)r->w->comm->size : 0;
	for (uint32_t i = 0; i < v->n; i++)
		sum += get_count_at(r, s, i);
	set_count(v, sum);
	v->layout = s->parts.displs ? BUFFER_SEGMENTS : BUFFER_CONTIG;
	v->counts = s->parts.counts;
	v->displs = s->parts.displs;
	v->width = r->flags & WIDE_COUNTS ? 8 : 4;
	v->dwidth = r->flags & WIDE_DISPLS ? 8 : 4;
}

/*
 * Adds this rank's part of a buffer: at its displacement, or after the parts of lower ranks.
 * packed: the buffer holds this part only.
 */
static void add_own_part(struct reading *r, bool out, const union side *s, bool packed)
{
	struct buffer *v = add_buffer(r, out, s->parts.buffer, s->parts.dtype);
	uint32_t rank = (uint32_t)r->w->comm->rank;
	uint64_t at = 0;

	if (!s->parts.counts)
		return;
	if (packed)
		at = 0;
	else if (s->parts.displs)
		at = r->flags & WIDE_DISPLS ? ((const uint64_t *)s->parts.displs)[rank]
					    : ((const uint32_t *)s->parts.displs)[rank];
	else
		for (uint32_t i = 0; i < rank; i++)
			at += get_count_at(r, s, i);
	v->base = (const char *)v->base + at * (uint64_t)v->unit;
	set_count(v, get_count_at(r, s, rank));
}

/* Collectives without a root. */
static void read_symmetric(struct reading *r, unsigned bit, bool in_place)
{
	const union side *src = &r->a->src, *dst = &r->a->dst, *from = in_place ? dst : src;
	uint64_t rank = (uint64_t)r->w->comm->rank, size = (uint64_t)r->w->comm->size;

	switch (bit) {
	case ALLGATHER:
		add_one_side(r, false, from, in_place ? rank : 0, in_place ? size : 0);
		add_one_side(r, true, dst, 0, 0);
		break;
	case ALLGATHERV:
		if (in_place)
			add_own_part(r, false, dst, false);
		else
			add_one_side(r, false, src, 0, 0);
		add_side_parts(r, true, dst);
		break;
	case ALLREDUCE:
	case ALLTOALL:
		add_one_side(r, false, from, 0, 0);
		add_one_side(r, true, dst, 0, 0);
		break;
	case ALLTOALLV:
		add_side_parts(r, false, from);
		add_side_parts(r, true, dst);
		break;
	case REDUCE_SCATTER:
		add_one_side(r, false, from, 0, 0);
		add_one_side(r, true, dst, in_place ? rank : 0, in_place ? size : 0);
		break;
	case REDUCE_SCATTERV:
		if (in_place)
			add_side_parts(r, false, dst);
		else
			add_one_side(r, false, src, 0, 0);
		add_own_part(r, true, dst, !in_place);
		break;
	}
}

static void read_rooted(struct reading *r, unsigned bit, bool in_place)
{
	const union side *src = &r->a->src, *dst = &r->a->dst;
	bool root = (uint64_t)r->w->comm->rank == r->a->root;
	uint64_t rank = (uint64_t)r->w->comm->rank, size = (uint64_t)r->w->comm->size;

	in_place &= root; /* "in place" has no meaning on the other ranks */
	switch (bit) {
	case BCAST:
		if (root)
			add_one_side(r, false, src, 0, 0);
		add_one_side(r, true, src, 0, 0);
		break;
	case GATHER:
		add_one_side(
			r, false, in_place ? dst : src, in_place ? rank : 0, in_place ? size : 0);
		if (root)
			add_one_side(r, true, dst, 0, 0);
		break;
	case GATHERV:
		if (in_place)
			add_own_part(r, false, dst, false);
		else
			add_one_side(r, false, src, 0, 0);
		if (root)
			add_side_parts(r, true, dst);
		break;
	case REDUCE:
		add_one_side(r, false, in_place ? dst : src, 0, 0);
		if (root)
			add_one_side(r, true, dst, 0, 0);
		break;
	case SCATTER:
	case SCATTERV:
		if (root && bit == SCATTER)
			add_one_side(r, false, src, 0, 0);
		else if (root)
			add_side_parts(r, false, src);
		if (!in_place)
			add_one_side(r, true, dst, 0, 0);
		break;
	}
}

static bool is_rooted_coll(unsigned bit)
{
	return bit == BCAST || (bit >= FANIN && bit <= REDUCE) || bit == SCATTER || bit == SCATTERV;
}

void read_ucc_args(struct operation *w, const void *args)
{
	const struct coll_args *a = args;
	unsigned bit = ucc_get_coll_bit(args);
	struct reading r = {a, w, a->mask & ARGS_HAVE_FLAGS ? a->flags : 0};
	bool reduces = bit == ALLREDUCE || bit == REDUCE || bit == REDUCE_SCATTER ||
		       bit == REDUCE_SCATTERV;

	if (reduces)
		w->redop = spec_value_find(&ucc_redops, a->op, w->redop);
	if (is_rooted_coll(bit))
		w->root = (int32_t)a->root;
	if (!w->comm)
		return;
	if (r.flags & IN_PLACE)
		w->flags |= CF_INPLACE;
	if (is_rooted_coll(bit))
		read_rooted(&r, bit, r.flags & IN_PLACE);
	else
		read_symmetric(&r, bit, r.flags & IN_PLACE);
}
