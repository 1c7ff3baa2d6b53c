/* SPDX-License-Identifier: Apache-2.0 */
#include "call/record.h"

#include <stdio.h>
#include <string.h>

#include "base/private_stack.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/comm.h"
#include "call/data/observer.h"
#include "call/data/slice.h"
#include "call/pending.h"
#include "call/step.h"
#include "call/recorder.h"
#include "device/device.h"
#include "device/measure.h"
#include "session/state.h"
#include "session/thinning.h"
#include "stats/fenv.h"

tensor_namer_fn *tensor_namer;
tensor_bad_fn *tensor_bad;

uint32_t register_api(struct api *a)
{
	static _Atomic uint32_t last;
	uint32_t id, none = 0;
	const struct api_spec *s = a->spec;
	/* A C++ function is recorded under its readable name, not under the linker's. */
	const char *name = strncmp(s->symbol, "_Z", 2) ? s->symbol : s->list_name;
	const char *text[3] = {NULL, name, s->kind ? s->kind->op : ""};
	char op[32];

	if (s->task == TASK_COMM_NEW && s->how) {
		snprintf(op, sizeof(op), "comm_%s", s->how);
		text[2] = op;
	}

	/*
	 * The label is that of one copy of the library, even if several are loaded, because the entry belongs to the
	 * row. Copies of one library have the same label. Labels differ (NCCL and RCCL) only in a process that computes
	 * with CUDA and with ROCm at once, which no framework build does. For communicators, comms.csv has the label of
	 * their own copy.
	 */
	text[0] = s->lib->label ? s->lib->label(call_get_real(a)) : s->lib->name;
	/* Two threads may both add the api; the second entry is then never referred to. */
	id = atomic_fetch_add(&last, 1) + 1;
	if (id > UINT16_MAX ||
		journal_dict_add_texts(&session.journal, DICT_API, (uint16_t)id, text, 3) < 0)
		return 0;
	return atomic_compare_exchange_strong(&a->dict, &none, id) ? id : none;
}

static bool is_buffer_kept(uint64_t comm, const struct buffer *v, unsigned n, bool *numbered)
{
	bool kept = false;

	for (; n; n--, v++)
		if (v->comm_seq != JOURNAL_NONE64) {
			*numbered = true;
			kept |= is_call_kept(comm, v->comm_seq);
		}
	return kept;
}

bool is_thinned_out(struct thread *t, const struct operation *w, int64_t comm_seq)
{
	uint64_t comm = w->comm ? w->comm->id : 0;
	bool numbered = false, kept = false;

	if (comm && comm_seq != JOURNAL_NONE64)
		return !is_call_kept(comm, comm_seq);
	if (comm) {
		kept = is_buffer_kept(comm, operation_get_inputs(w), w->nin, &numbered);
		kept |= is_buffer_kept(comm, operation_get_outputs(w), w->nout, &numbered);
	}
	return numbered ? !kept : !is_call_kept(0, (int64_t)t->unnumbered++);
}

static inline unsigned get_recorded_dims(const struct buffer *v)
{
	return __builtin_expect(v->layout == BUFFER_STRIDED, 0) && v->ndim != JOURNAL_NDIM_NONE
		       ? v->ndim
		       : 0;
}

static inline uint32_t get_tensor_bytes(const struct buffer *v)
{
	return (uint32_t)sizeof(struct journal_tensor) + 8 * get_recorded_dims(v);
}

static inline uint32_t compute_tensors_bytes(const struct buffer *v, unsigned n)
{
	if (__builtin_expect(n == 1, 1))
		return get_tensor_bytes(v);

	uint32_t bytes = n * (uint32_t)sizeof(struct journal_tensor);

	for (; n; n--, v++)
		bytes += 8 * get_recorded_dims(v);
	return bytes;
}

void operation_remove_excess(struct operation *w)
{
	/* Removes inputs or outputs, whichever are more, so that many inputs do not displace the outputs. */
	const uint32_t space =
		JOURNAL_ENTRY_MAX - (uint32_t)sizeof(struct journal_call) - w->output_limit;
	uint32_t in = compute_tensors_bytes(operation_get_inputs(w), w->nin),
		 out = compute_tensors_bytes(operation_get_outputs(w), w->nout);

	while (in + out > space) {
		if (in > out)
			in -= get_tensor_bytes(&operation_get_inputs(w)[--w->nin]);
		else
			out -= get_tensor_bytes(&operation_get_outputs(w)[--w->nout]);
		w->flags |= CF_MORE;
	}
}

/*
 * Entries are filled in field by field: compilers clear a struct of their size with a string instruction that takes
 * longer than all else here. Padding, and unused statistics, keep the content of an older record.
 */

static inline void write_tensor(struct journal_tensor *restrict t, const struct buffer *restrict v)
{
	t->count = v->count;
	t->bytes = v->bytes;
	t->comm_seq = v->comm_seq;
	t->stats.n = 0;
	t->peer = v->peer;
	t->tag = v->tag;
	t->crc = 0;
	t->index = v->index; /* these three in the order of struct buffer: one load and store */
	t->dtype = v->dtype;
	t->io = v->io;
	t->flags = v->count ? TF_NOSTATS : 0;
	t->ndim = JOURNAL_NDIM_NONE;
	t->name = v->name;
	if (__builtin_expect(tensor_namer != NULL, 0) && !t->name)
		t->name = tensor_namer(v);
	if (__builtin_expect(v->layout == BUFFER_STRIDED, 0)) {
		t->ndim = v->ndim;
		t->arg = v->arg;
		t->item = v->item;
		memcpy(t + 1, v->counts, 8 * get_recorded_dims(v));
	}
}

static inline struct journal_tensor *get_next_tensor(
	struct journal_tensor *t, const struct buffer *v)
{
	return (struct journal_tensor *)((char *)t + get_tensor_bytes(v));
}

/* larger buffers take long to measure (thread_add_exact_time()) */
#define EXACT_BYTES THINNING_BYTES_LEAST

static void measure_buffer(
	const struct operation *w, uint64_t seq, const struct buffer *v, struct journal_tensor *out)
{
	struct thread *t = v->bytes >= EXACT_BYTES ? thread_inside()->recorder : NULL;
	uint64_t t0 = t ? clock_ticks() : 0;

	tensor_measure(w, seq, v, out);
	if (__builtin_expect(tensor_bad != NULL, 0) && out->name && out->stats.n &&
		(out->stats.nans || out->stats.infs))
		tensor_bad(v, out);
	if (t) {
		thread_add_exact_time(t, clock_ticks() - t0);
		record_tensor_size(v->bytes);
	}
}

/*
 * True if the processor may read v, as far as a device's runtime in this process knows. For calls
 * on streams, stream.c has already checked more closely.
 */
static bool is_in_host_memory(const struct device_backend *b, const struct buffer *v)
{
	enum device_memory kind;
	uintptr_t lo, hi;

	if (__builtin_expect(!b, 1) || !buffer_get_bounds(v, &lo, &hi))
		return true;
	return device_is_host(b, (const void *)lo, hi - lo, &kind);
}

struct tensors {
	const struct operation *w;
	uint64_t seq;
	struct journal_tensor *t;
	const struct buffer *v;
	unsigned n;
};

static void measure_on_private_stack(void *arg)
{
	const struct tensors *all = arg;
	struct journal_tensor *t = all->t;
	const struct buffer *v = all->v;
	unsigned n = all->n;
	/*
	 * Buffers of any call may be on a device (CUDA-aware MPI), whose runtime may have been loaded since the last
	 * call.
	 */
	const struct device_backend *b = device_watch();
	struct buffer_part part;
	struct stats_fenv fenv;

	stats_fenv_set(&fenv);
	for (; n; n--, t = get_next_tensor(t, v), v++) {
		const struct buffer *shown = v;

		if (__builtin_expect(is_sliced(&all->w->slicing), 0))
			shown = slice_get_part(all->w, v, &part);
		if (!tensor_is_watched(shown))
			continue;
		if (__builtin_expect(b != NULL, 0) && SNAPSHOT_IS_MEASURED(v->snapshot))
			tensor_set_measured(all->w, shown, t);
		else if (v->host || is_in_host_memory(b, v))
			measure_buffer(all->w, all->seq, shown, t);
	}
	stats_fenv_reset(&fenv);
}

/* Kernels take up to 5 KiB of stack. */
__attribute__((noinline)) static void measure_tensors(const struct operation *w, uint64_t seq,
	struct journal_tensor *t, const struct buffer *v, unsigned n)
{
	struct tensors all = {w, seq, t, v, n};

	private_stack_call(measure_on_private_stack, &all);
}

/*
 * Lets rows describe the parts of their tensors. They keep the names, which belong to the whole
 * tensors' addresses. Returns true if a part is to be looked at.
 */
static __attribute__((noinline)) bool write_parts(
	const struct operation *w, struct journal_tensor *t, const struct buffer *v, unsigned n)
{
	struct buffer_part part;
	bool look = false;

	for (; n; n--, t = get_next_tensor(t, v), v++) {
		const struct buffer *b = slice_get_part(w, v, &part);
		uint32_t name = t->name;

		if (b == v)
			continue;
		write_tensor(t, b);
		t->name = name;
		look |= tensor_is_watched(b);
	}
	return look;
}

/* Returns CF_SLICED if a row of one of the buffers describes only a part, else 0. */
static __attribute__((noinline)) uint32_t get_flag_of_parts(
	const struct operation *w, const struct buffer *v, unsigned n)
{
	struct buffer_part part;

	for (; n; n--, v++)
		if (slice_get_part(w, v, &part) != v)
			return CF_SLICED;
	return 0;
}

__attribute__((noinline)) static struct journal_tensor *write_several_tensors(
	const struct operation *w, uint64_t seq, struct journal_tensor *t, const struct buffer *v,
	unsigned n)
{
	struct journal_tensor *at = t;
	unsigned watched = 0;

	for (unsigned i = 0; i < n; i++) {
		write_tensor(at, &v[i]);
		watched += tensor_is_watched(&v[i]);
		at = get_next_tensor(at, &v[i]);
	}
	if (is_sliced(&w->slicing))
		watched += write_parts(w, t, v, n);
	else if (watched && tensor_watch.few && !tensor_bad &&
		 tensor_measure_few(w, v, n, watched == n, t))
		return at;
	if (watched)
		measure_tensors(w, seq, t, v, n);
	return at;
}

/*
 * Writes rows of inputs or outputs at `t`. Returns their end. The usual one is inlined: a call and
 * a loop would be 3 % of a record.
 */
static inline __attribute__((always_inline)) struct journal_tensor *write_tensors(
	const struct operation *w, uint64_t seq, struct journal_tensor *t, const struct buffer *v,
	unsigned n)
{
	if (__builtin_expect(n != 1 || is_sliced(&w->slicing), 0))
		return write_several_tensors(w, seq, t, v, n);
	write_tensor(t, v);
	if (tensor_is_watched(v) &&
		!(tensor_watch.few && !tensor_bad && tensor_measure_few(w, v, 1, true, t)))
		measure_tensors(w, seq, t, v, 1);
	return get_next_tensor(t, v);
}

/*
 * Closes the open records of the thread from the i-th on: their calls were skipped by longjmp(),
 * which runs no cleanup.
 */
__attribute__((noinline)) static void close_abandoned(struct thread *t, uint32_t i)
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

static void record_open_call(struct thread *t, struct journal_call *r)
{
	if (t->nopen < THREAD_OPEN_MAX)
		t->open[t->nopen++] = r;
	else
		t->nmore++;
}

/*
 * For a record r that is not the innermost open one: the calls inside it were skipped by
 * longjmp().
 */
__attribute__((noinline)) static bool remove_abandoned_and_open(
	struct thread *t, const struct journal_call *r)
{
	for (uint32_t i = t->nopen; i-- > 0;)
		if (t->open[i] == r) {
			close_abandoned(t, i + 1);
			t->nopen = i;
			return true;
		}
	return t->nmore && t->nmore--;
}

/*
 * Returns false if the record is no longer this thread's: it was closed as abandoned, or this is
 * a forked child. Its memory may contain another record by now.
 */
static inline bool remove_open_record(const struct journal_call *r)
{
	struct thread *t = thread_inside()->recorder;

	if (!t)
		return false;
	if (__builtin_expect(t->nopen && t->open[t->nopen - 1] == r, 1)) {
		t->nopen--;
		return true;
	}
	return remove_abandoned_and_open(t, r);
}

__attribute__((noinline)) static void count_dropped_record(struct thread *t)
{
	thread_count(t, JC_DROP_FULL);
	if (atomic_load_explicit(&session.journal.refused_ns, memory_order_relaxed))
		log_loss(LOSS_FULL,
			"the journal is full at %llu KiB and cannot grow: the disk or a limit does "
			"not allow it; records are lost, see meta.json",
			(unsigned long long)journal_get_size(&session.journal) >> 10);
	else
		log_loss(LOSS_FULL,
			"the journal is full: records are lost, see meta.json; raise journal_mib "
			"(now %llu)",
			(unsigned long long)session.journal.head->bytes >> 20);
}

/*
 * Stores what a receive waits for, so that `probe report` can show it for a rank that is blocked.
 */
static inline void write_awaited(
	struct journal_tensor *restrict t, const struct buffer *restrict v, unsigned n)
{
	t->count = JOURNAL_UNTOLD;
	if (!n)
		return;
	t->count = v->count;
	t->bytes = v->bytes;
	t->dtype = v->dtype;
}

/* Inlined into both callers, because every record goes through here. */
static inline __attribute__((always_inline)) struct journal_call *start_record(struct thread *t,
	struct api *api, struct operation *w, int64_t comm_seq, uint32_t stack, uint64_t parent)
{
	const struct buffer *in = operation_get_inputs(w), *out = operation_get_outputs(w);
	uint32_t bytes = (uint32_t)sizeof(struct journal_call) + compute_tensors_bytes(in, w->nin) +
			 (w->output_limit ? w->output_limit : compute_tensors_bytes(out, w->nout));
	uint32_t id = record_api(api);
	struct comm *m = w->comm;

	if (m && !atomic_load_explicit(&m->announced, memory_order_relaxed))
		comm_write_row(m, t);
	/* A message has its number in the row of its buffer. An open or failed receive has none. */
	if (comm_seq == JOURNAL_NONE64 && w->nin + w->nout == 1)
		comm_seq = w->nin ? in->comm_seq : out->comm_seq;

	struct journal_call *r = id ? thread_reserve(t, bytes) : NULL;

	if (!r) {
		count_dropped_record(t);
		return NULL;
	}
	r->e.bytes = bytes;
	r->e.type = JE_CALL;
	r->e.n = w->nin;
	r->seq = thread_get_next_seq(t);
	r->end = 0;
	r->comm = m ? m->id : 0;
	r->comm_seq = w->flags & CF_NODE ? w->node : comm_seq;
	r->parent = parent;
	r->wait = 0;
	r->comm_rank = m ? m->rank : -1;
	r->comm_size = m ? m->size : -1;
	w->row = api;
	r->step = w->step = step_now();
	r->micro_step = step_micro();
	r->root = w->root;
	r->peer = w->peer;
	r->tag = w->tag;
	r->error = 0;
	r->flags = w->flags;
	r->stack = stack;
	r->tid = t->tid;
	r->api = (uint16_t)id;
	r->redop = w->redop;
	r->phase = w->phase ? w->phase : (uint8_t)thread_inside()->phase;
	if (__builtin_expect(is_sliced(&w->slicing), 0))
		r->flags |= get_flag_of_parts(w, in, w->nin);
	if (w->nin)
		write_tensors(w, r->seq, (struct journal_tensor *)(r + 1), in, w->nin);
	else if (bytes >= sizeof(*r) + sizeof(struct journal_tensor))
		write_awaited((struct journal_tensor *)(r + 1), out, w->nout);
	atomic_store_explicit(&r->e.state, JCS_OPEN, memory_order_relaxed);
	thread_count(t, JC_RECORDED);
	r->start = clock_ticks();
	chain_publish(&t->chain, bytes);
	return r;
}

struct journal_call *record_open(struct thread *t, struct api *api, struct operation *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent)
{
	struct journal_call *r;

	/*
	 * No other call of this thread is in progress, so records that are still open were
	 * abandoned. They would block all later ones.
	 */
	if (!thread_get_call_depth() && t->nopen) {
		close_abandoned(t, 0);
		t->nmore = 0;
	}
	r = start_record(t, api, w, comm_seq, stack, parent);
	if (r)
		record_open_call(t, r);
	return r;
}

struct journal_call *record_start(struct thread *t, struct api *api, struct operation *w,
	int64_t comm_seq, uint32_t stack, uint64_t parent)
{
	return start_record(t, api, w, comm_seq, stack, parent);
}

static inline __attribute__((always_inline)) void close_record(
	struct journal_call *r, const struct operation *w, uint64_t end, bool failed, int64_t error)
{
	unsigned nout = w->nout;

	r->end = end;
	r->peer = w->peer;
	r->tag = w->tag;
	if (w->flags & CF_NODE)
		r->comm_seq = w->node;
	__atomic_store_n(&r->flags, r->flags | w->flags, __ATOMIC_RELEASE);
	if (failed) {
		r->flags |= CF_ERROR;
		r->error = (int32_t)error;
	} else if (nout) {
		const struct buffer *v = operation_get_outputs(w);
		uint32_t in = compute_tensors_bytes(operation_get_inputs(w), w->nin),
			 out = compute_tensors_bytes(v, nout);
		uint32_t space = r->e.bytes - (uint32_t)sizeof(*r) - in;
		struct journal_tensor *t = (struct journal_tensor *)((char *)(r + 1) + in);

		for (; __builtin_expect(out > space, 0); r->flags |= CF_MORE)
			out -= get_tensor_bytes(&v[--nout]);
		if (__builtin_expect(is_sliced(&w->slicing), 0))
			r->flags |= get_flag_of_parts(w, v, nout);
		write_tensors(w, r->seq, t, v, nout);
		/* At the program's end, the writer may read the entry before it is closed. */
		__atomic_store_n(&r->e.n, (uint16_t)(w->nin + nout), __ATOMIC_RELEASE);
	}
	atomic_store_explicit(&r->e.state, JCS_CLOSED, memory_order_release);
}

void record_close(
	struct journal_call *r, const struct operation *w, uint64_t end, bool failed, int64_t error)
{
	if (remove_open_record(r))
		close_record(r, w, end, failed, error);
}

void record_not_started(
	struct journal_call *r, const struct operation *w, uint64_t end, int64_t error)
{
	close_record(r, w, end, true, error);
}

void record_started_at_once(struct journal_call *r, struct operation *w, uint64_t end)
{
	w->flags |= CF_ASYNC;
	r->wait = JOURNAL_NO_WAIT;
	close_record(r, w, end, false, 0);
}

void record_at_once(struct journal_call *r, struct operation *w, uint64_t end)
{
	if (remove_open_record(r))
		record_started_at_once(r, w, end);
}

void record_async(struct journal_call *r, const struct operation *w, uint64_t end)
{
	if (!remove_open_record(r))
		return;
	r->end = end;
	record_started(r, w);
}

void record_started(struct journal_call *r, const struct operation *w)
{
	r->flags |= w->flags | CF_ASYNC;
	atomic_store_explicit(&r->e.state, JCS_ASYNC, memory_order_release);
}

void write_end_record(
	struct thread *t, const struct pending *p, uint64_t end, uint32_t flags, int32_t error)
{
	const struct operation *w = &p->op;
	/*
	 * After such a request the content of the buffer is not known, and the buffer may have
	 * been freed.
	 */
	uint16_t nout = flags & (CF_ERROR | CF_CANCELLED | CF_FREED | CF_UNSEEN) ? 0 : w->nout;
	uint16_t nin = 0; /* inputs that are measured only now */

	for (unsigned i = 0; i < w->nin; i++)
		nin += operation_get_inputs(w)[i].snapshot != 0;

	uint32_t bytes = (uint32_t)sizeof(struct journal_end) +
			 compute_tensors_bytes(operation_get_outputs(w), nout);
	struct journal_tensor *at;

	for (unsigned i = 0; i < w->nin; i++)
		bytes += operation_get_inputs(w)[i].snapshot
				 ? get_tensor_bytes(&operation_get_inputs(w)[i])
				 : 0;

	struct journal_end *e = thread_reserve_end(t, bytes);

	if (!e) {
		thread_count(t, JC_DROP_PENDING);
		return;
	}
	*e = (struct journal_end){
		.e = {.bytes = bytes, .type = JE_END, .n = (uint16_t)(nin + nout)},
		.seq = p->seq,
		.end = end,
		.wait = p->wait,
		.comm_seq = JOURNAL_NONE64,
		.device_ns = p->device_ns,
		.peer = w->peer,
		.tag = w->tag,
		.error = error,
		.flags = flags | (is_sliced(&w->slicing) ? get_flag_of_parts(w,
								   operation_get_outputs(w), nout)
							 : 0),
	};
	at = (struct journal_tensor *)(e + 1);
	for (unsigned i = 0; i < w->nin; i++)
		if (operation_get_inputs(w)[i].snapshot)
			at = write_tensors(w, p->seq, at, &operation_get_inputs(w)[i], 1);
	write_tensors(w, p->seq, at, operation_get_outputs(w), nout);
	chain_publish(&t->chain, bytes);
}
