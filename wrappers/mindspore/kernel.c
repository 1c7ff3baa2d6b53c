/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/mindspore/layout/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "call/data/buffer_check.h"
#include "journal/layout.h"
#include "session/state.h"
#include "wrappers/cxx/cxx_work.h"
#include "wrappers/mindspore/layout/kernel_layout.h"
#include "wrappers/mindspore/attention_values.h"
#include "wrappers/mindspore/expert_values.h"
#include "wrappers/mindspore/kernel_phase.h"

#define PREFIX "ms::"
#define BUCKETS 1024u

static _Atomic(struct ms_kernel *) kernels[BUCKETS];

/* ---- rows ---- */

static struct ms_kernel *find_kernel_row(
	struct ms_kernel *k, const struct ms_kernel *end, enum kernel_way way, const char *name)
{
	for (; k != end; k = k->next)
		if (k->cxx.spec.sub == way && strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

static struct ms_kernel *add_kernel_row(enum kernel_way way, const char *name, void *real)
{
	struct ms_kernel *k =
		cxx_function_open_row(sizeof(*k) + strlen(name) + 1, name, "MindSpore");
	struct api_spec *s;
	bool listed;

	if (!k)
		return NULL;
	strcpy(k->name, name);
	snprintf(k->cxx.symbol, sizeof(k->cxx.symbol), PREFIX "%s", name);
	k->cxx.kind = (struct kind){.name = k->name, .op = k->name};
	k->update = find_update_kernel(name);
	k->counts_steps = strcmp(name, "AssignAdd") == 0;
	k->is_softmax = is_softmax_kernel(name);
	k->chooses = is_choosing_kernel(name);
	k->copies = is_copying_kernel(name);
	k->takes_root = strcmp(name, "Sqrt") == 0;
	s = &k->cxx.spec;
	s->lib = &adapter_ms_kernel;
	s->list_name = k->name;
	s->kind = &k->cxx.kind;
	s->task = TASK_DATA;
	s->sub = way;
	s->completion = DONE_REQUEST; /* so that leave is called */
	s->nargs = KERNEL_ARGS;
	listed = ms_kernel_listed(name);
	atomic_store(&k->cxx.api.real, real);
	/*
	 * A kernel that is not listed now may be listed by another configuration; the decision is
	 * made again when the configuration changes.
	 */
	k->cxx.api.word =
		API_BOUND | API_CHOSEN |
		(listed ? API_NEW : API_SKIP | get_generation()->number << API_GENERATION);
	k->made.api = &k->cxx.api;
	return k;
}

struct ms_kernel *ms_find_or_add_kernel_row(enum kernel_way way, const char *name, void *real)
{
	_Atomic(struct ms_kernel *) *bucket = &kernels[hash_str(way, name) % BUCKETS];
	struct ms_kernel *head = atomic_load_explicit(bucket, memory_order_acquire), *seen;
	struct ms_kernel *k = find_kernel_row(head, NULL, way, name), *other;
	int err = errno;

	if (__builtin_expect(k != NULL, 1))
		return k;
	k = add_kernel_row(way, name, real);
	if (k) {
		k->next = head;
		while (!atomic_compare_exchange_weak(bucket, &k->next, k)) {
			seen = head;
			head = k->next;
			other = find_kernel_row(head, seen, way, name);
			if (other) {
				free(k);
				errno = err;
				return other;
			}
		}
		cxx_function_register();
		rows_add(&k->made);
	}
	errno = err;
	return k;
}

/* ---- calls ---- */

static void add_kernel_tensors(struct cxx_work *w, const struct kernel_tensors *t, bool out)
{
	uint16_t *n = out ? &w->nout : &w->nin;

	*n = 0;
	for (const void *const *p = t->begin; p < t->end && *n < CXX_TENSORS_MAX; p++) {
		struct buffer *v = out ? &w->out[*n] : &w->in[*n];
		size_t arg = (size_t)(p - t->begin) + 1;

		if (!ms_read_tensor_buffer(*p, v, w->strides[*n + out * CXX_TENSORS_MAX]))
			continue;
		/* On a device without unified addressing the processor cannot read the tensor. */
		if (!v->nostats && !is_buffer_readable_now(v))
			v->nostats = 1;
		v->io = out ? IO_OUT : IO_IN;
		v->index = *n;
		v->arg = !out && arg < TENSOR_ARG(~0) ? (uint8_t)arg : 0;
		++*n;
	}
}

/* The tensors that hold a kernel's results: its outputs, or inputs that it writes. */
static struct kernel_tensors get_result_tensors(const struct call *c)
{
	const struct ms_kernel *k = (const struct ms_kernel *)c->api;
	const struct kernel_tensors *in = c->v[KERNEL_INPUTS].cp;

	if (k->update && in->end - in->begin >= k->update->written)
		return (struct kernel_tensors){in->begin, in->begin + k->update->written};
	return *(const struct kernel_tensors *)c->v[KERNEL_OUTPUTS].cp;
}

static bool read_kernel_call(struct call *c)
{
	struct cxx_work *w = cxx_work_add(c, NULL);
	struct kernel_tensors out = get_result_tensors(c);
	struct operation *op = &c->op;
	size_t n = (size_t)(out.end - out.begin);

	op->phase = ms_find_kernel_phase((const struct ms_kernel *)c->api, c->v[KERNEL_NODE].cp);
	if (!w)
		return true;
	add_kernel_tensors(w, c->v[KERNEL_INPUTS].cp, false);
	if (w->nin == CXX_TENSORS_MAX)
		op->flags |= CF_MORE;
	op->nin = w->nin;
	op->all_in = w->in;
	op->all_out = w->out;
	op->output_limit = (uint32_t)((n < CXX_TENSORS_MAX ? n : CXX_TENSORS_MAX) *
				      (sizeof(struct journal_tensor) + 8 * CXX_DIMS_MAX));
	return true;
}

static void handle_unrecorded_kernel(const struct call *c)
{
	(void)c;
	cxx_work_reset();
}

/*
 * Adds the outputs after the call, because the shape of one may not be known before the kernel
 * has run.
 */
static void handle_kernel_return(struct call *c, int64_t ret)
{
	struct cxx_work *w = cxx_work_get(c);
	struct kernel_tensors out = get_result_tensors(c);

	(void)ret;
	if (!w || !c->rec)
		return;
	add_kernel_tensors(w, &out, true);
	c->op.nout = w->nout;
	for (unsigned i = 0; i < w->nout; i++)
		for (unsigned k = 0; k < w->nin; k++)
			if (w->out[i].base && w->out[i].base == w->in[k].base)
				c->op.flags |= CF_INPLACE;
}

static bool is_kernel_row_listed(const struct api *f)
{
	return ms_kernel_listed(((const struct ms_kernel *)f)->name);
}

const struct adapter adapter_ms_kernel = {
	.name = "mindspore",
	.success = {true},
	.nsuccess = 1,
	.describe = read_kernel_call,
	.passed = handle_unrecorded_kernel,
	.listed = is_kernel_row_listed,
	.leave = handle_kernel_return,
	.fork_handlers = ms_fork_handlers,
};
