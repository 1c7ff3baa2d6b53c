/* SPDX-License-Identifier: Apache-2.0 */
#include "call/record.h"

#include <string.h>

#include "base/log.h"
#include "base/thread.h"
#include "call/comm.h"
#include "call/pending.h"
#include "call/step.h"
#include "call/thread.h"
#include "session.h"

uint32_t record_api(const struct api *api)
{
	static _Atomic uint32_t last;
	struct api *a = (struct api *)api;
	uint32_t id = atomic_load_explicit(&a->dict, memory_order_acquire), none = 0;
	const struct api_spec *s = a->spec;
	const char *op = s->kind ? s->kind->op : "";
	char text[512];
	size_t n = 0;

	if (id)
		return id;
	for (int i = 0; i < 3; i++) {
		const char *str = i == 0 ? s->lib->name : i == 1 ? s->symbol : op;
		size_t len = strlen(str) + 1;

		if (n + len > sizeof(text))
			return 0;
		memcpy(text + n, str, len);
		n += len;
	}
	/* Two threads may both enter it; the second entry is never referred to. */
	id = atomic_fetch_add(&last, 1) + 1;
	if (id > UINT16_MAX ||
		journal_dict_add(&session.journal, DICT_API, (uint16_t)id, text, n) < 0)
		return 0;
	return atomic_compare_exchange_strong(&a->dict, &none, id) ? id : none;
}

static unsigned dims(const struct view *v)
{
	return v->layout == VIEW_STRIDED && v->ndim != JOURNAL_NDIM_NONE ? v->ndim : 0;
}

static uint32_t tensor_bytes(const struct view *v)
{
	return (uint32_t)sizeof(struct journal_tensor) + 8 * dims(v);
}

static uint32_t tensors_bytes(const struct view *v, unsigned n)
{
	uint32_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		bytes += tensor_bytes(&v[i]);
	return bytes;
}

void what_fit(struct what *w)
{
	/* Half of the room for each side that has more, so that outputs are not lost behind many inputs. */
	const uint32_t room =
		JOURNAL_ENTRY_MAX - (uint32_t)sizeof(struct journal_call) - w->out_room;
	uint32_t in = tensors_bytes(what_in(w), w->nin), out = tensors_bytes(what_out(w), w->nout);

	while (in + out > room) {
		if (in > out)
			in -= tensor_bytes(&what_in(w)[--w->nin]);
		else
			out -= tensor_bytes(&what_out(w)[--w->nout]);
		w->flags |= CF_MORE;
	}
}

/* Rows of inputs or outputs at `t`. Returns where they end. */
static struct journal_tensor *put_tensors(
	struct journal_tensor *t, const struct view *v, unsigned n, bool measure)
{
	const struct config *cfg = &session.cfg;
	struct journal_tensor *at = t;
	struct stats_fenv fenv;
	bool fenv_in = false;

	for (unsigned i = 0; i < n; i++, v++) {
		bool big = cfg->max_bytes && v->bytes > (uint64_t)cfg->max_bytes;
		bool look = measure && cfg->statistics && !v->nostats && !big && v->count;
		unsigned nd = dims(v);

		*at = (struct journal_tensor){
			.count = v->count,
			.bytes = v->bytes,
			.comm_seq = v->comm_seq,
			.peer = v->peer,
			.tag = v->tag,
			.index = v->index,
			.dtype = v->dtype,
			.io = v->io,
			.flags = v->count && !look ? TF_NOSTATS : 0,
			.ndim = v->layout == VIEW_STRIDED ? v->ndim : JOURNAL_NDIM_NONE,
		};
		if (nd)
			memcpy(at + 1, v->counts, 8 * nd);
		if (look) {
			if (!fenv_in)
				stats_fenv_enter(&fenv);
			fenv_in = true;
			view_measure(v, cfg->eps, &at->stats);
		}
		at = (struct journal_tensor *)((char *)at + tensor_bytes(v));
	}
	if (fenv_in)
		stats_fenv_leave(&fenv);
	return at;
}

/* Closes the open records of the thread from the i-th on: their calls were left by a longjmp, which calls nobody. */
static void close_abandoned(struct thread *t, uint32_t i)
{
	uint32_t n = t->nopen;

	t->nopen = i;
	for (; i < n; i++) {
		struct journal_call *r = t->open[i];

		r->flags |= CF_UNWOUND;
		r->end = clock_ticks();
		atomic_store_explicit(&r->e.state, JCS_CLOSED, memory_order_release);
	}
}

static void note_open(struct thread *t, struct journal_call *r)
{
	if (t->nopen < THREAD_OPEN_MAX)
		t->open[t->nopen++] = r;
	else
		t->nmore++;
}

/*
 * False: it is not this thread's any more. It was taken for abandoned, or this is a forked child; the memory may
 * belong to another record by now.
 */
static bool take_open(const struct journal_call *r)
{
	struct thread *t = thread_word.self;

	if (!t)
		return false;
	for (uint32_t i = t->nopen; i-- > 0;)
		if (t->open[i] == r) {
			close_abandoned(t, i + 1);
			t->nopen = i;
			return true;
		}
	return t->nmore && t->nmore--;
}

struct journal_call *record_open(struct thread *t, struct api *api, const struct what *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent)
{
	struct journal_call *r;

	/* The outermost wrapper is entered: nothing of this thread can be on the way, and would hold up all behind it. */
	if (!thread_word.depth && t->nopen) {
		close_abandoned(t, 0);
		t->nmore = 0;
	}
	r = record_start(t, api, w, comm_seq, stack, parent);
	if (r)
		note_open(t, r);
	return r;
}

struct journal_call *record_start(struct thread *t, struct api *api, const struct what *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent)
{
	uint32_t bytes = (uint32_t)sizeof(struct journal_call) + tensors_bytes(what_in(w), w->nin) +
			 (w->out_room ? w->out_room : tensors_bytes(what_out(w), w->nout));
	uint32_t id = record_api(api);
	struct comm *m = w->comm;

	if (m)
		comm_announce(m, t);
	/* A message has its number in the row of its buffer; while it is open, or failed, a receive has none. */
	if (comm_seq == JOURNAL_NONE64 && w->nin + w->nout == 1)
		comm_seq = w->nin ? what_in(w)->comm_seq : what_out(w)->comm_seq;

	struct journal_call *r = id ? thread_reserve(t, bytes) : NULL;

	if (!r) {
		thread_count(t, JC_DROP_FULL);
		log_loss(LOSS_FULL,
			"the journal is full: records are lost, see meta.json; raise journal_mib "
			"(now %lld)",
			(long long)session.cfg.journal_mib);
		return NULL;
	}
	*r = (struct journal_call){
		.e = {.bytes = bytes, .type = JE_CALL, .n = w->nin},
		.seq = thread_next_seq(t),
		.comm = m ? m->id : 0,
		.comm_seq = comm_seq,
		.parent = parent,
		.comm_rank = m ? m->rank : -1,
		.comm_size = m ? m->size : -1,
		.step = step_now(),
		.micro_step = step_micro(),
		.phase = w->phase ? w->phase : thread_word.phase,
		.root = w->root,
		.peer = w->peer,
		.tag = w->tag,
		.flags = w->flags,
		.stack = stack,
		.tid = t->tid,
		.api = (uint16_t)id,
		.redop = w->redop,
	};
	put_tensors((struct journal_tensor *)(r + 1), what_in(w), w->nin, true);
	atomic_store_explicit(&r->e.state, JCS_OPEN, memory_order_relaxed);
	thread_count(t, JC_RECORDED);
	r->start = clock_ticks();
	chain_publish(&t->chain, bytes);
	return r;
}

static void close_now(
	struct journal_call *r, const struct what *w, uint64_t end, bool failed, int64_t error)
{
	unsigned nout = w->nout;

	r->end = end;
	r->peer = w->peer;
	r->tag = w->tag;
	r->flags |= w->flags;
	if (failed) {
		r->flags |= CF_ERROR;
		r->error = (int32_t)error;
	} else if (w->nout) {
		uint32_t in = tensors_bytes(what_in(w), w->nin);
		uint32_t room = r->e.bytes - (uint32_t)sizeof(*r) - in;
		struct journal_tensor *t = (struct journal_tensor *)((char *)(r + 1) + in);

		while (nout && tensors_bytes(what_out(w), nout) > room) {
			nout--;
			r->flags |= CF_MORE;
		}
		put_tensors(t, what_out(w), nout, true);
		/* At the program's end the writer may look at it before it is closed. */
		__atomic_store_n(&r->e.n, (uint16_t)(w->nin + nout), __ATOMIC_RELEASE);
	}
	atomic_store_explicit(&r->e.state, JCS_CLOSED, memory_order_release);
}

void record_close(
	struct journal_call *r, const struct what *w, uint64_t end, bool failed, int64_t error)
{
	if (take_open(r))
		close_now(r, w, end, failed, error);
}

void record_not_started(struct journal_call *r, const struct what *w, uint64_t end, int64_t error)
{
	close_now(r, w, end, true, error);
}

void record_async(struct journal_call *r, const struct what *w)
{
	if (take_open(r))
		record_started(r, w);
}

void record_started(struct journal_call *r, const struct what *w)
{
	r->flags |= w->flags | CF_ASYNC;
	atomic_store_explicit(&r->e.state, JCS_ASYNC, memory_order_release);
}

void record_end(
	struct thread *t, const struct pending *p, uint64_t end, uint32_t flags, int32_t error)
{
	const struct what *w = &p->what;
	/* What a freed or cancelled request left in its buffer is not known. */
	bool outputs = w->nout && !(flags & (CF_ERROR | CF_CANCELLED | CF_FREED));
	uint32_t bytes = (uint32_t)sizeof(struct journal_end) +
			 tensors_bytes(what_out(w), outputs ? w->nout : 0u);
	struct journal_end *e = thread_reserve_end(t, bytes);

	if (!e) {
		thread_count(t, JC_DROP_PENDING);
		return;
	}
	*e = (struct journal_end){
		.e = {.bytes = bytes, .type = JE_END, .n = outputs ? w->nout : 0},
		.seq = p->seq,
		.end = end,
		.wait = p->wait,
		.comm_seq = JOURNAL_NONE64,
		.peer = w->peer,
		.tag = w->tag,
		.error = error,
		.flags = flags,
	};
	if (outputs)
		put_tensors((struct journal_tensor *)(e + 1), what_out(w), w->nout, true);
	chain_publish(&t->chain, bytes);
}
