/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_save() of probe.h: saving a tensor under a name of the program's choice is a call of
 * library `probe` with this name as operation. Rows are made at the first use of a name and are
 * never freed. If two threads add the same name, both rows stay in the list and either may be
 * found.
 */
#define PROBE_BUILDING
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/enabled.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "call/call.h"
#include "call/named_row.h"
#include "call/record.h"
#include "call/recorder.h"
#include "call/stackid.h"
#include "call/step.h"
#include "journal/layout.h"
#include "session/state.h"

#define SAVED_NAMES_MAX 4096
#define SAVED_NAME_BYTES 200
#define SAVED_DIMS_MAX 16

static const struct adapter adapter_saved = {.name = "probe"};

struct saved_name {
	struct saved_name *next;
	struct api *row;
};

static _Atomic(struct saved_name *) saved_names;
static _Atomic unsigned saved_count;

static struct api *find_saved_row(const char *name)
{
	struct saved_name *s = atomic_load(&saved_names);

	for (; s; s = s->next)
		if (strcmp(named_row_op(s->row), name) == 0)
			return s->row;
	if (atomic_fetch_add(&saved_count, 1) < SAVED_NAMES_MAX)
		s = calloc(1, sizeof(*s));
	if (s && !(s->row = named_row_new(&adapter_saved, "probe_save", name))) {
		free(s);
		s = NULL;
	}
	if (!s) {
		log_loss(LOSS_DUMP,
			"probe_save: more than %d names, or no memory: tensors with further names "
			"are not recorded",
			SAVED_NAMES_MAX);
		return NULL;
	}
	s->next = atomic_load(&saved_names);
	while (!atomic_compare_exchange_weak(&saved_names, &s->next, s))
		;
	return s->row;
}

/*
 * Parses 8x512, or with any separators between the numbers: (8, 512). Returns the number of
 * dimensions, -1: too many, or one exceeds 63 bits.
 */
static int read_saved_shape(const char *shape, int64_t *dims)
{
	int n = 0;

	for (const char *p = shape; *p;) {
		char *end;

		if (*p < '0' || *p > '9') {
			p++;
			continue;
		}
		if (n == SAVED_DIMS_MAX)
			return -1;
		errno = 0;
		dims[n++] = strtoll(p, &end, 10);
		if (errno)
			return -1;
		p = end;
	}
	return n;
}

/* Returns false if there is no such type, or the elements exceed the address space. */
static bool set_saved_buffer(struct buffer *v, const void *p, const char *dtype, int64_t *dims,
	int64_t *strides, int ndim)
{
	int dt = dtype_from_name(strncmp(dtype, "torch.", 6) == 0 ? dtype + 6 : dtype);
	int64_t count = 1;

	if (dt <= DT_OTHER)
		return false;
	for (int i = ndim; i-- > 0;) {
		strides[i] = count;
		if (__builtin_mul_overflow(count, dims[i], &count))
			return false;
	}
	if (count > INT64_MAX / 16)
		return false;
	*v = (struct buffer){.base = p,
		.count = (uint64_t)count,
		.bytes = (uint64_t)count * get_dtype_info((unsigned)dt)->size,
		.dtype = (uint8_t)dt,
		.layout = BUFFER_STRIDED,
		.io = IO_IN,
		.ndim = (uint8_t)ndim,
		.peer = JOURNAL_NONE,
		.tag = JOURNAL_NONE,
		.comm_seq = JOURNAL_NONE64,
		.n = (uint32_t)ndim,
		.counts = dims,
		.displs = strides};
	return true;
}

static bool is_saving_wanted(void)
{
	return session_configure() && recording_enabled() && !get_generation()->paused &&
	       session_rank_selected() && step_selected() && (session_is_on() || session_start());
}

static int record_saved(struct api *row, const struct buffer *v, uintptr_t pc, uintptr_t frame)
{
	struct operation w = {.root = JOURNAL_NONE, .peer = JOURNAL_NONE, .tag = JOURNAL_NONE};
	struct thread *t = thread_get();
	struct journal_call *r;
	uint32_t stack;

	if (!t)
		return -1;
	thread_count(t, JC_SEEN);
	stack = are_stack_ids_wanted() ? stack_id(t, row, pc, frame) : 0;
	if (stack == STACK_UNWANTED) {
		thread_count(t, JC_SKIP_CALLER);
		return -1;
	}
	w.config = get_config();
	w.in[0] = *v;
	w.nin = 1;
	r = record_open(t, row, &w, JOURNAL_NONE64, stack, 0);
	if (!r)
		return -1;
	record_close(r, &w, clock_ticks(), false, 0);
	return 0;
}

int probe_save(const char *name, const void *data, const char *dtype, const char *shape)
{
	int err = errno, ret = -1, ndim;
	int64_t dims[SAVED_DIMS_MAX], strides[SAVED_DIMS_MAX];
	struct api *row;
	struct buffer v;

	if (!name || !*name || strlen(name) >= SAVED_NAME_BYTES || !dtype || !shape)
		return -1;
	thread_state.busy++;
	thread_bounds_find();
	log_config_now();
	ndim = read_saved_shape(shape, dims);
	if (ndim >= 0 && set_saved_buffer(&v, data, dtype, dims, strides, ndim) &&
		(data || !v.count) && is_saving_wanted() && (row = find_saved_row(name)))
		ret = record_saved(row, &v, (uintptr_t)__builtin_return_address(0),
			(uintptr_t)__builtin_frame_address(0));
	thread_state.busy--;
	errno = err;
	return ret;
}
