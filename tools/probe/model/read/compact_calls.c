/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/compact_calls.h"

#include <string.h>

#include "text/write.h"
#include "tools/lib/intern.h"
#include "tools/probe/model/read/compact_reader.h"

/* Bits that all calls of a site share. */
#define FORM_BITS                                                                                 \
	((uint32_t)(CALL_OPEN | CALL_ASYNC | CALL_ERROR | CALL_LOCAL | CALL_MORE | CALL_UNWOUND | \
		    CALL_PERMUTED | CALL_GAPS | CALL_IN_PLACE))
#define NS_MAX (UINT64_C(1) << 53) /* ns; longer times may be rounded in text */

uint64_t compact_get_step(const struct compact_reader *r)
{
	return r->call.c.step;
}

uint64_t compact_get_seq(const struct compact_reader *r)
{
	return r->call.c.seq;
}

uint64_t compact_get_start(const struct compact_reader *r)
{
	return r->call.c.start;
}

unsigned compact_get_row_count(const struct compact_reader *r)
{
	return r->record.n ? r->record.n : 1;
}

static inline int64_t get_number(int64_t v)
{
	return v == JOURNAL_NONE64 ? NO_NUMBER : v;
}

static inline int64_t get_number_32(int32_t v)
{
	return v == JOURNAL_NONE ? NO_NUMBER : v;
}

static int64_t find_comm_seq(const struct compact_reader *r, const struct journal_tensor *t)
{
	const struct journal_call *c = &r->call.c;

	if (t && t->comm_seq != JOURNAL_NONE64)
		return t->comm_seq;
	if (c->flags & CF_NODE || (r->record.open && !c->comm))
		return NO_NUMBER;
	return get_number(c->comm_seq);
}

static int64_t find_peer(const struct compact_reader *r, const struct journal_tensor *t)
{
	return get_number_32(t && t->peer != JOURNAL_NONE ? t->peer : r->call.c.peer);
}

static int64_t find_tag(const struct compact_reader *r, const struct journal_tensor *t)
{
	return get_number_32(t && t->tag != JOURNAL_NONE ? t->tag : r->call.c.tag);
}

bool compact_copy_call(const struct compact_reader *r, struct call *c)
{
	const struct journal_call *from = &r->call.c;
	const struct site_form *form = &r->site_of_call->form;
	const struct journal_tensor *t = r->record.n ? &r->row[0].t : NULL;
	uint64_t wait = from->wait == JOURNAL_NO_WAIT ? 0 : from->wait,
		 dur = r->record.open ? 0 : r->end.end - from->start;

	if (!form->known || r->present & (CP_ERROR | CP_NODE | CP_AWAIT) || dur >= NS_MAX ||
		wait >= NS_MAX || r->end.device_ns >= NS_MAX)
		return false;
	c->seq = from->seq;
	c->start = from->start;
	c->bits |= form->bits;
	c->lib = form->lib;
	c->api = form->api;
	c->op = form->op;
	c->redop = form->redop;
	c->dtype = form->dtype;
	c->phase = form->phase;
	c->stack = form->stack;
	c->thread = form->thread;
	c->comm = form->comm;
	c->comm_rank = form->comm_rank;
	c->size = form->size;
	c->root = form->root;
	c->count = form->count;
	c->comm_seq = find_comm_seq(r, t);
	c->peer = find_peer(r, t);
	c->tag = find_tag(r, t);
	c->source = c->source_seq = c->source_tag = NO_NUMBER;
	if (c->peer != NO_NUMBER || c->tag != NO_NUMBER)
		c->bits |= CALL_P2P;
	if (from->micro_step != UINT32_MAX)
		c->pass = from->micro_step + 1;
	if (from->parent)
		c->bits |= CALL_NESTED;
	c->wait = wait;
	if (from->wait && c->bits & CALL_ASYNC)
		c->bits |= CALL_WAITED;
	c->dur = dur;
	c->device = r->end.device_ns;
	return true;
}

void compact_record_form(struct compact_reader *r, const struct call *c)
{
	bool open = r->record.open;

	/* The reasons for these bits do not apply to all calls of the site. */
	if (r->present & (CP_ERROR | CP_NODE | CP_AWAIT) || !!(c->bits & CALL_OPEN) != open)
		return;
	r->site_of_call->form = (struct site_form){.lib = c->lib,
		.api = c->api,
		.op = c->op,
		.redop = c->redop,
		.dtype = c->dtype,
		.phase = c->phase,
		.bits = c->bits & FORM_BITS,
		.stack = c->stack,
		.thread = c->thread,
		.known = true,
		.comm = c->comm,
		.count = c->count,
		.comm_rank = c->comm_rank,
		.size = c->size,
		.root = c->root};
}

/* ---- rows ---- */

static bool is_telling_wide(double v)
{
	char text[64 + WRITE_SLACK];
	struct csv_text t = {.s = text};

	t.n = (size_t)(write_double(text, v, 17) - text);
	return has_telling_digits(&t);
}

/* Returns the key of the share of zeros, as it would be printed in text. */
static uint64_t compute_zeros_key(const struct stats *s)
{
	char text[64 + WRITE_SLACK];
	struct csv_text t = {.s = text};
	double share;

	if (!s->zeros)
		return 0;
	t.n = (size_t)(write_double_9(text, (double)s->zeros / (double)s->n) - text);
	return csv_parse_double_fast(&t, &share) ? compute_double_key(share) : 0;
}

static void compute_side_row(
	const struct compact_reader *r, unsigned i, bool telling_known, struct side_row *row)
{
	const struct journal_tensor *of = r->kind[i], *t = &r->row[i].t;
	const struct dtype_info *d = get_dtype_info(of->dtype);
	const struct stats *s = &t->stats;

	row->mean = s->mean;
	row->norm = s->norm;
	row->zeros_key = compute_zeros_key(s);
	row->checksum_key = t->flags & TF_CRC ? compute_checksum_key(t->crc) : 0;
	row->telling = r->telling[i];
	if (d->cls == DTC_SIGNED) {
		row->min = (double)s->min.i;
		row->max = (double)s->max.i;
		row->min_key = compute_signed_key(s->min.i);
		row->max_key = compute_signed_key(s->max.i);
	} else if (d->cls == DTC_UNSIGNED) {
		row->min = (double)s->min.u;
		row->max = (double)s->max.u;
		row->min_key = compute_unsigned_key(s->min.u);
		row->max_key = compute_unsigned_key(s->max.u);
	} else {
		row->min = s->min.f;
		row->max = s->max.f;
		row->min_key = compute_double_key(s->min.f);
		row->max_key = compute_double_key(s->max.f);
		if (__builtin_expect(d->wide, 0)) {
			row->min_key = compute_wide_key(s->min.f);
			row->max_key = compute_wide_key(s->max.f);
			row->telling = telling_known || is_telling_wide(s->min.f) ||
				       is_telling_wide(s->max.f);
		}
	}
}

/* The names of data types by their number, interned when first needed. */
static uint32_t get_dtype_name_id(unsigned dtype)
{
	static _Atomic uint32_t ids[DT_COUNT];
	uint32_t id = dtype < DT_COUNT ? ids[dtype] : 0;

	if (!id && dtype < DT_COUNT) {
		const char *name = get_dtype_info(dtype)->name;

		ids[dtype] = id = intern_add_text(name, strlen(name));
	}
	return id;
}

bool compact_add_row(const struct compact_reader *r, unsigned i, struct call *c, bool values,
	uint64_t *nans, uint64_t *infs)
{
	const struct journal_tensor *of, *t;
	struct side_row row;
	struct side *side;

	c->rows++;
	if (!r->record.n)
		return false;
	of = r->kind[i];
	t = &r->row[i].t;
	side = of->io == IO_IN ? &c->in : &c->out;
	row.count = of->count;
	row.measured = t->stats.n != 0;
	*nans = row.nans = row.measured ? t->stats.nans : 0;
	*infs = row.infs = row.measured ? t->stats.infs : 0;
	if (of->io == IO_IN) {
		c->in_bytes += of->bytes;
	} else {
		c->out_bytes += of->bytes;
		if (!c->out_dtype)
			c->out_dtype = get_dtype_name_id(of->dtype);
		if (c->bits & CALL_P2P && strcmp(intern_get_name(c->op), "send_recv") == 0) {
			c->source = find_peer(r, t);
			c->source_seq = find_comm_seq(r, t);
			c->source_tag = find_tag(r, t);
		}
	}
	if (!values)
		return false;
	if (row.measured)
		compute_side_row(r, i, side->telling, &row);
	else if (of->io == IO_IN && of->count)
		c->blind++;
	add_to_side(side, &row);
	return row.nans || row.infs;
}
