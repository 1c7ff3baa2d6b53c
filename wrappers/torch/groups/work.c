/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call of a process group to its completion.
 *
 * Gloo: the caller's thread queues a Work (enqueue) before the function returns. A thread of Gloo runs it and calls
 * finishWorkGloo; when that begins, the outputs are valid. A Work is recognised by its address from enqueue on, which
 * comes before any thread can run it. It need never be waited for (DDP does not). Messages are completed by the wait of
 * their Work. A reduce_scatter queues an all-reduce and returns another Work, which copies its part of the result when
 * it is waited for (lambda_work.c); if that is not seen, its outputs are not known (flag untracked). Other backends
 * complete on the device's stream.
 */
#include <stdatomic.h>

#include "journal/layout.h"
#include "training/steps/step_times.h"
#include "wrappers/torch/tensors/torch.h"

struct cxx_work *torch_add_work(struct call *c)
{
	return cxx_work_add(c, torch_read_tensor);
}

/* Ticks at which gloo's threads last finished an operation. */
static _Atomic uint64_t last_finish;

/*
 * A thread waits for collectives: through a Work of its own, or in DDP's reducer, which waits for all buckets and then
 * copies them. Time after the last completion is copying.
 */
static void handle_wait_scope(struct call *c, bool reducer, bool leaving)
{
	uint64_t end = leaving ? c->end : 0;

	if (!leaving) {
		c->note.u[0] = clock_ticks();
		return;
	}
	if (reducer)
		end = atomic_load_explicit(&last_finish, memory_order_relaxed);
	end = end < c->end ? end : c->end;
	if (end > c->note.u[0])
		step_waited_for_comm(end - c->note.u[0]);
}

void torch_handle_work_scope(struct call *c, enum torch_scope s, bool leaving)
{
	const void *self = c->v[0].cp;
	struct cxx_work *w;

	switch (s) {
	case SCOPE_GLOO_ENQUEUE:
		/* A call inside c, which is not recorded, queues the Work. */
		w = leaving ? NULL : cxx_work_get_enclosing();
		if (w && torch_get_function(w->call)->method &&
			!torch_get_function(w->call)->indirect)
			cxx_work_set_object(w, *(void **)c->v[1].p);
		break;
	case SCOPE_GLOO_FINISH:
		if (!leaving) {
			atomic_store_explicit(&last_finish, clock_ticks(), memory_order_relaxed);
			cxx_work_handle_end(c, self, clock_ticks(), 0);
		}
		break;
	case SCOPE_GLOO_FAILED:
		if (!leaving)
			cxx_work_handle_end(c, self, clock_ticks(), CF_ERROR);
		break;
	case SCOPE_WAIT:
		if (leaving) {
			cxx_work_handle_end(c, self, c->end, c->ok ? 0 : CF_ERROR);
			step_waited_for_comm(c->end - c->note.u[0]);
		} else {
			c->note.u[0] = clock_ticks();
		}
		break;
	case SCOPE_COMM_WAIT:
		handle_wait_scope(c, false, leaving);
		break;
	case SCOPE_REDUCER_PREPARED:
	case SCOPE_REDUCER_GRADIENT:
		if (!leaving)
			torch_handle_reducer(c, s);
		break;
	case SCOPE_REDUCER_FINISHED:
		handle_wait_scope(c, true, leaving);
		if (leaving && c->ok)
			torch_handle_reducer(c, s);
		break;
	default:
		break;
	}
}

/*
 * Called when the function has returned; after this the record is closed, or kept open until the
 * Work is complete.
 */
void torch_handle_work_return(struct call *c)
{
	const struct torch_function *row = torch_get_function(c);
	struct cxx_work *w = cxx_work_get(c);

	if (!w)
		return;
	if (!w->started && c->rec && row->backend == BACKEND_GLOO &&
		(row->method->form >= FORM_SEND ||
			(row->indirect && torch_watch_wait(*(void **)c->result))))
		cxx_work_set_object(w, *(void **)c->result);
	if (w->started) {
		/* The returned Work does something more afterwards: this row's outputs may be wrong, but no other row's. */
		if (row->cxx.ffi.hidden && *(void **)c->result != w->handle) {
			((struct torch_function *)row)->indirect = true;
			c->op.flags |= CF_UNTRACKED;
		}
		cxx_work_handle_return(c, w);
		return;
	}
	c->op.flags |= CF_ASYNC;
	if (row->backend == BACKEND_GLOO && row->cxx.ffi.hidden) {
		c->op.flags |= CF_UNTRACKED;
		c->op.nout = 0;
	}
}
