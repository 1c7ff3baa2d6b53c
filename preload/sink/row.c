/* SPDX-License-Identifier: Apache-2.0 */
#include "sink/row.h"

#include <string.h>

#include "base/redop.h"

const char *const phase_name[] = {"", "forward", "backward", "optimizer"};

/* In the order of enum call_flag's bits. */
static const char *const flag_name[] = {
	"inplace",
	"async",
	"captured",
	"nostats",
	"unwound",
	"cancelled",
	"guessed",
	"localcomm",
	"inprogress",
	"freed",
	"derived",
	"userop",
	"untracked",
	"more",
};

void csv_field_max(struct text *out, const char *s, size_t max)
{
	size_t n = strnlen(s, max);

	/* Not in the middle of a character. */
	while (n == max && max && (s[max] & 0xc0) == 0x80)
		n = --max;
	if (strcspn(s, ",\"\r\n") >= n) {
		text_put(out, s, n);
		return;
	}
	text_char(out, '"');
	for (; n--; s++) {
		if (*s == '"')
			text_char(out, '"');
		text_char(out, *s);
	}
	text_char(out, '"');
}

void csv_field(struct text *out, const char *s)
{
	csv_field_max(out, s, strlen(s));
}

void csv_end(struct text *out)
{
	if (out->cut)
		out->len--;
	text_char(out, '\n');
}

static void comma(struct text *out)
{
	text_char(out, ',');
}

static void opt_i32(struct text *out, int32_t v)
{
	if (v != JOURNAL_NONE)
		text_i64(out, v);
	comma(out);
}

static void value(struct text *out, const struct dtype_info *d, union stats_value v)
{
	if (d->cls == DTC_SIGNED)
		text_i64(out, v.i);
	else if (d->cls == DTC_UNSIGNED)
		text_u64(out, v.u);
	else
		text_double(out, v.f, d->wide ? 17 : 9);
	comma(out);
}

/* io .. infs */
static void tensor_columns(struct text *out, const struct journal_tensor *t)
{
	if (!t) {
		text_str(out, ",,,,,,,,,,,,,");
		return;
	}

	const struct dtype_info *d = dtype_info(t->dtype);
	const uint64_t *dim = (const uint64_t *)(t + 1);

	text_str(out, t->io == IO_IN ? "in," : "out,");
	text_u64(out, t->index);
	comma(out);
	text_str(out, d->name);
	comma(out);
	if (t->ndim == 0)
		text_char(out, '-');
	for (unsigned i = 0; t->ndim <= ROW_DIMS_MAX && i < t->ndim; i++) {
		if (i)
			text_char(out, 'x');
		text_u64(out, dim[i]);
	}
	comma(out);
	text_u64(out, t->count);
	comma(out);
	text_u64(out, t->bytes);
	comma(out);
	if (!t->stats.n) {
		text_str(out, ",,,,,,,");
		return;
	}

	int digits = d->wide ? 17 : 9;

	value(out, d, t->stats.min);
	value(out, d, t->stats.max);
	text_double(out, t->stats.mean, digits);
	comma(out);
	text_double(out, t->stats.norm, digits);
	comma(out);
	text_double(out, (double)t->stats.zeros / (double)t->stats.n, 9);
	comma(out);
	text_u64(out, t->stats.nans);
	comma(out);
	text_u64(out, t->stats.infs);
	comma(out);
}

/* node:7, or node:7-9 */
static void node_flag(struct text *out, int64_t node)
{
	text_str(out, "node:");
	text_u64(out, JOURNAL_NODE_FIRST(node));
	if (JOURNAL_NODE_MORE(node)) {
		text_char(out, '-');
		text_u64(out, JOURNAL_NODE_FIRST(node) + JOURNAL_NODE_MORE(node));
	}
}

static void flag_column(struct text *out, uint32_t flags, int32_t error, int64_t node)
{
	bool first = true;

	for (unsigned i = 0; i < sizeof(flag_name) / sizeof(*flag_name); i++) {
		if (!(flags >> i & 1))
			continue;
		if (!first)
			text_char(out, ';');
		text_str(out, flag_name[i]);
		first = false;
	}
	if (flags & CF_ERROR) {
		text_str(out, first ? "error:" : ";error:");
		text_i64(out, error);
		first = false;
	}
	if (flags & CF_OPEN) {
		text_str(out, first ? "open" : ";open");
		first = false;
	}
	if (flags & CF_NODE) {
		text_str(out, first ? "" : ";");
		node_flag(out, node);
	}
}

void row_format(struct text *out, const struct clock_base *clock, const struct row_api *api,
	const struct journal_call *c, const struct journal_end *end, const struct journal_tensor *t,
	bool open, const char *name)
{
	uint32_t flags = c->flags | (end ? end->flags : 0);
	int64_t comm_seq = end && end->comm_seq != JOURNAL_NONE64 ? end->comm_seq : c->comm_seq;
	int32_t peer = end && end->peer != JOURNAL_NONE ? end->peer : c->peer;
	int32_t tag = end && end->tag != JOURNAL_NONE ? end->tag : c->tag;
	uint64_t wait = c->wait + (end ? end->wait : 0), dev = end ? end->dev_ns : c->dev_ns;
	uint64_t last = end ? end->end : c->end;

	/* Killed between the number and its flag: it counts no calls of a communicator. */
	if (flags & CF_NODE || (open && !c->comm))
		comm_seq = JOURNAL_NONE64;
	/* Killed while it was being closed: what its end was going to be is not known. */
	if (open)
		flags = (flags & ~(uint32_t)CF_ERROR) | CF_OPEN;
	if (t) {
		comm_seq = t->comm_seq != JOURNAL_NONE64 ? t->comm_seq : comm_seq;
		peer = t->peer != JOURNAL_NONE ? t->peer : peer;
		tag = t->tag != JOURNAL_NONE ? t->tag : tag;
		flags |= t->flags & TF_NOSTATS ? CF_NOSTATS : 0;
	}
	text_u64(out, c->step);
	comma(out);
	if (c->micro_step != UINT32_MAX)
		text_u64(out, c->micro_step);
	comma(out);
	text_u64(out, c->seq);
	comma(out);
	csv_field_max(out, api->lib, ROW_STRING_MAX);
	comma(out);
	csv_field_max(out, api->symbol, ROW_STRING_MAX);
	comma(out);
	csv_field_max(out, api->op, ROW_STRING_MAX);
	comma(out);
	if (c->comm)
		text_hex(out, c->comm, 16);
	comma(out);
	if (comm_seq != JOURNAL_NONE64)
		text_i64(out, comm_seq);
	comma(out);
	if (c->comm_rank >= 0)
		text_i64(out, c->comm_rank);
	comma(out);
	if (c->comm_size >= 0)
		text_i64(out, c->comm_size);
	comma(out);
	text_str(out, redop_name[c->redop < REDOP_COUNT ? c->redop : 0]);
	comma(out);
	opt_i32(out, c->root);
	opt_i32(out, peer);
	tensor_columns(out, t);
	text_u64(out, clock_to_real(clock, c->start));
	comma(out);
	if (!open)
		text_u64(out, last > c->start ? clock_to_dur(clock, last - c->start) : 0);
	comma(out);
	text_u64(out, c->tid);
	comma(out);
	if (c->stack)
		text_u64(out, c->stack);
	comma(out);
	flag_column(out, flags, end && end->flags & CF_ERROR ? end->error : c->error, c->comm_seq);
	comma(out);
	if (c->parent)
		text_u64(out, c->parent);
	comma(out);
	text_str(out, phase_name[c->phase & 3]);
	comma(out);
	if (name)
		csv_field_max(out, name, ROW_STRING_MAX);
	comma(out);
	if (tag != JOURNAL_NONE)
		text_i64(out, tag);
	comma(out);
	if (wait)
		text_u64(out, clock_to_dur(clock, wait));
	comma(out);
	if (dev)
		text_u64(out, dev);
	comma(out);
	if (t && t->flags & TF_CRC)
		text_hex(out, t->crc, 8);
	csv_end(out);
}
