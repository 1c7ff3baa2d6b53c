/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a row that follow from its call, the call's completion and the tensor together:
 * for every format that writes rows.
 */
#ifndef PROBE_SINK_ROW_VALUES_H
#define PROBE_SINK_ROW_VALUES_H

#include "journal/journal.h"

/* The values of a row that come from the call, its completion and its tensor together. */
struct row_values {
	/* JOURNAL_NONE64: empty field */
	int64_t micro_step, comm_seq, dur_ns, wait_ns, dev_ns, issue_ns;
	int32_t peer, tag; /* JOURNAL_NONE: empty field */
	uint32_t flags;
	int32_t error; /* valid with CF_ERROR */
	int64_t node; /* valid with CF_NODE */
	/* buffer that an open call waits for; NULL: none or not known */
	const struct journal_tensor *awaited;
};

/* Duration of `wait` ticks of waiting, in ns. wait 0: none, or not known. */
static inline int64_t compute_wait_ns(const struct clock_base *clock, uint64_t wait)
{
	if (!wait)
		return JOURNAL_NONE64;
	return wait == JOURNAL_NO_WAIT ? 0 : (int64_t)clock_to_dur(clock, wait);
}

static inline int64_t compute_dur_ns(const struct clock_base *clock, uint64_t start, uint64_t end)
{
	return end > start ? (int64_t)clock_to_dur(clock, end - start) : 0;
}

/* Returns the values for the row of tensor t of call c. t NULL: a row without tensor. */
static inline struct row_values compute_row(const struct clock_base *clock,
	const struct journal_call *c, const struct journal_end *end, const struct journal_tensor *t,
	bool open)
{
	const uint32_t flags = c->flags | (end ? end->flags : 0);
	const int64_t waited = compute_wait_ns(clock, c->wait + (end ? end->wait : 0));
	struct row_values v = {
		.micro_step = c->micro_step != UINT32_MAX ? c->micro_step : JOURNAL_NONE64,
		.comm_seq = end && end->comm_seq != JOURNAL_NONE64 ? end->comm_seq : c->comm_seq,
		.peer = end && end->peer != JOURNAL_NONE ? end->peer : c->peer,
		.tag = end && end->tag != JOURNAL_NONE ? end->tag : c->tag,
		.flags = flags,
		.error = end && end->flags & CF_ERROR ? end->error : c->error,
		.node = c->comm_seq,
		.wait_ns = flags & CF_ASYNC ? waited : JOURNAL_NONE64,
		.dur_ns = open ? JOURNAL_NONE64
			       : compute_dur_ns(clock, c->start, end ? end->end : c->end),
		.issue_ns = !(flags & CF_ASYNC) ? waited /* in the probe before it */
			    : c->flags & CF_ASYNC && c->end
				    ? compute_dur_ns(clock, c->start, c->end)
				    : JOURNAL_NONE64,
		.dev_ns = end && end->device_ns ? (int64_t)end->device_ns : JOURNAL_NONE64,
		.awaited = open && !t ? journal_awaited(c) : NULL,
	};

	/*
	 * The process was killed after it had set comm_seq and before it set CF_NODE, or the call
	 * has no communicator: comm_seq is not the number of a collective.
	 */
	if (v.flags & CF_NODE || (open && !c->comm))
		v.comm_seq = JOURNAL_NONE64;
	/*
	 * The process was killed while it closed the record: whether the call would have failed
	 * is not known.
	 */
	if (open)
		v.flags = (v.flags & ~(uint32_t)CF_ERROR) | CF_OPEN;
	if (t) {
		v.comm_seq = t->comm_seq != JOURNAL_NONE64 ? t->comm_seq : v.comm_seq;
		v.peer = t->peer != JOURNAL_NONE ? t->peer : v.peer;
		v.tag = t->tag != JOURNAL_NONE ? t->tag : v.tag;
		v.flags |= t->flags & TF_NOSTATS ? CF_NOSTATS : 0;
	}
	return v;
}

/*
 * True for nearly all calls: complete when the function returns, without an error and without a
 * wait.
 */
static inline bool is_plain_call(
	const struct journal_call *c, const struct journal_end *end, bool open)
{
	return !end && !open && !(c->flags & (CF_ERROR | CF_NODE | CF_ASYNC)) && !c->wait;
}

/* True if the tensor is not a message of its own, with its own number, peer or tag. */
static inline bool is_plain_tensor(const struct journal_tensor *t)
{
	return !((uint64_t)(t->comm_seq ^ JOURNAL_NONE64) |
		 (uint32_t)((t->peer ^ JOURNAL_NONE) | (t->tag ^ JOURNAL_NONE)));
}

/* compute_row() for a call of is_plain_call() and a tensor of is_plain_tensor(). */
static inline struct row_values compute_plain_row(const struct clock_base *clock,
	const struct journal_call *c, const struct journal_tensor *t)
{
	return (struct row_values){
		.micro_step = c->micro_step != UINT32_MAX ? c->micro_step : JOURNAL_NONE64,
		.comm_seq = c->comm_seq,
		.peer = c->peer,
		.tag = c->tag,
		.flags = c->flags | (t && t->flags & TF_NOSTATS ? CF_NOSTATS : 0u),
		.wait_ns = JOURNAL_NONE64,
		.dur_ns = compute_dur_ns(clock, c->start, c->end),
		.issue_ns = JOURNAL_NONE64,
		.dev_ns = JOURNAL_NONE64,
	};
}

#endif
