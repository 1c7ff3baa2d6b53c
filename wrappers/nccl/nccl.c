/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL and the libraries with its interface. Communicators and windows are handled by
 * wrappers/ccl. This file finds out which library provides the interface, and describes signals.
 */
#include <stdio.h>
#include <string.h>

#include "call/describe.h"
#include "elf/loaded/object_of.h"
#include "life/life.h"
#include "nccl_gen.h"

static const char *get_nccl_label(const void *real)
{
	char file[16];

	return strncmp(sibling_copy_file_name(real, file, sizeof(file)), "librccl", 7) ? "nccl"
										       : "rccl";
}

static void record_nccl_version(const void *from)
{
	int (*get)(int *) = (int (*)(int *))sibling_find_symbol(from, "ncclGetVersion");
	static atomic_flag reported = ATOMIC_FLAG_INIT;
	char text[32];
	int v;

	if (!get || atomic_flag_test_and_set(&reported) || get(&v))
		return;
	snprintf(text, sizeof(text), "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	session_record_library(get_nccl_label(from), text);
}

CCL_FUNCTIONS(nccl)

/* ---- one-sided calls ---- */

/*
 * ncclPutSignal, ncclSignal and ncclWaitSignal came with NCCL 2.29.2. NCCLX had functions of these names with other
 * parameters before: those of its releases on NCCL 2.27 and 2.28 are C functions, from 2.29 on they are in namespace ncclx,
 * and the C functions are NCCL's (comms/ncclx/meta/rma/rma.cc of torchcomms: `#if NCCL_MINOR >= 29`). So the version says
 * which it is.
 */
#define FIRST_WITH_SIGNALS 22902

static bool ask_for_signals(const void *real)
{
	int (*get)(int *) = (int (*)(int *))sibling_find_symbol(real, "ncclGetVersion");
	int v;

	/* The function may belong to another tool, which precedes the library in symbol lookup. */
	if (!get)
		get = (int (*)(int *))sibling_find_symbol(NULL, "ncclGetVersion");
	return get && !get(&v) && v >= FIRST_WITH_SIGNALS;
}

static bool has_signals(const void *real)
{
	/*
	 * Address * 2 + answer, of up to three functions in each copy of the library; 0 if free.
	 * If the table is full, the library is queried each time.
	 */
	static _Atomic uint64_t known[16];
	uint64_t at = (uint64_t)(uintptr_t)real << 1, free = 0;
	bool yes;

	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t k = atomic_load_explicit(&known[i], memory_order_relaxed);

		if (!k)
			break;
		if ((k & ~UINT64_C(1)) == at)
			return k & 1;
	}
	yes = ask_for_signals(real);
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++, free = 0)
		if (atomic_compare_exchange_strong(&known[i], &free, at | yes))
			break;
	return yes;
}

/* ncclWaitSignalDesc_t of nccl.h 2.29 to 2.32: 16 bytes. */
struct signal_desc {
	int32_t count, peer, index, context;
};
_Static_assert(sizeof(struct signal_desc) == 16, "");

/* Describes the rank and the signal that the call waits for, if it waits for one kind only. */
static void describe_wait(struct operation *w, const struct signal_desc *d, int32_t n)
{
	bool peer = n > 0 && d, index = peer;

	for (int32_t i = 1; d && i < n; i++) {
		peer &= d[i].peer == d[0].peer;
		index &= d[i].index == d[0].index;
	}
	if (peer)
		w->peer = d[0].peer;
	if (index)
		w->tag = d[0].index;
}

/*
 * Describes the call on its window, if that is known, like MPI's one-sided calls. The peer makes
 * no matching call, so the message has no number.
 */
static bool read_signal_call(struct call *c)
{
	const union arg *comm = call_get_arg(c, ROLE_COMM), *win = call_get_arg(c, ROLE_WIN),
			*peer = call_get_arg(c, ROLE_PEER), *tag = call_get_arg(c, ROLE_TAG),
			*items = call_get_arg(c, ROLE_ITEMS);
	struct operation *w = &c->op;
	struct comm *m;

	if (!has_signals(c->real))
		return false;
	m = win ? ccl_find_window(&ccl_nccl, win->u, comm->u) : NULL;
	describe_by_kind(c, m ? m : ccl_comm_nccl(comm->u));
	if (items) {
		describe_wait(w, items->cp, (int32_t)call_get_arg(c, ROLE_NITEMS)->i);
		return true;
	}
	w->peer = (int32_t)peer->i;
	w->tag = (int32_t)tag->i;
	for (unsigned i = 0; i < w->nin; i++)
		w->in[i].tag = w->tag;
	return true;
}

static bool read_nccl_call(struct call *c)
{
	const struct api_spec *s = c->api->spec;

	if (__builtin_expect(s->at[ROLE_TAG] || s->at[ROLE_ITEMS], 0))
		return read_signal_call(c);
	describe_by_kind(c, ccl_comm_nccl(call_get_arg(c, ROLE_COMM)->u));
	return true;
}

static void handle_nccl_return(struct call *c, int64_t ret)
{
	if (c->ok && c->api->spec->task == TASK_COMM_NEW)
		record_nccl_version(c->real);
	ccl_leave_nccl(c, ret);
}

const struct adapter adapter_nccl = {
	LIB_NCCL_SPEC,
	.comm = ccl_comm_nccl,
	.label = get_nccl_label,
	.describe = read_nccl_call,
	.enter = ccl_enter_nccl,
	.leave = handle_nccl_return,
};
