/* SPDX-License-Identifier: Apache-2.0 */
#include "call/stream_values.h"

#include <errno.h>

#include "base/thread.h"
#include "call/data/observer.h"
#include "call/data/slice.h"
#include "call/recorder.h"
#include "config/rooms/calls.h"
#include "device/device.h"
#include "journal/layout.h"
#include "session/state.h"
#include "stats/stats.h"

/* maximum number of copied bytes per wanted byte, if elements are not adjacent */
#define SPREAD_MAX 4

static void count_unmeasured(void)
{
	if (thread_state.recorder)
		thread_count(thread_state.recorder, JC_DROP_DEVICE);
	else
		thread_count_shared(JC_DROP_DEVICE);
}

/*
 * Takes a snapshot of everything between the first and the last element of v, unless most of it
 * is other data. The distances between elements stay the same (set_snapshot_address()). 0: none; counted if there is no room for it.
 */
static uint32_t copy_to_snapshot(const struct device_backend *b, uint64_t stream,
	const struct buffer *v, uintptr_t lo, uintptr_t hi)
{
	uint32_t snapshot = 0;
	int err;

	if (hi - lo > SPREAD_MAX * v->bytes || !b->copy)
		return 0;
	err = b->copy(stream, (const void *)lo, hi - lo, &snapshot);
	if (err == -ENOBUFS)
		count_unmeasured();
	return err ? 0 : snapshot;
}

/* Lets v refer to its elements in the snapshot at address `at`. */
static void set_snapshot_address(struct buffer *v, const void *at)
{
	uintptr_t lo, hi;

	buffer_get_bounds(v, &lo, &hi);
	v->base = (const char *)at + ((uintptr_t)v->base - lo);
	v->host = 1;
	v->nostats = 0;
}

int stream_get_snapshot(const struct device_backend *b, struct buffer *v)
{
	const void *at = NULL;
	int state;

	if (SNAPSHOT_IS_MEASURED(v->snapshot)) {
		state = device_measured(v->snapshot, NULL, NULL);
		if (state == 1)
			v->nostats = 0;
		return state;
	}
	state = b->poll(v->snapshot, &at);
	if (state == 1)
		set_snapshot_address(v, at);
	return state;
}

int stream_poll_mark(uint32_t snapshot)
{
	return device_measured(snapshot, NULL, NULL);
}

void stream_drop_snapshot(const struct device_backend *b, uint32_t snapshot)
{
	if (SNAPSHOT_IS_MEASURED(snapshot))
		device_measured_drop(snapshot);
	else
		b->drop(snapshot);
}

/* ---- one launch ---- */

void stream_point_begin(
	struct stream_point *p, const struct device_backend *backend, uint64_t stream)
{
	p->backend = backend;
	p->stream = stream;
	p->op = NULL;
	p->open = p->refused = false;
}

void stream_point_end(struct stream_point *p)
{
	if (p->open)
		for (uint32_t lost = device_batch_close(&p->batch); lost; lost--)
			count_unmeasured();
	p->open = false;
}

void stream_point_move(struct stream_point *p, uint64_t stream)
{
	if (p->stream == stream)
		return;
	stream_point_end(p);
	stream_point_begin(p, p->backend, stream);
}

/* Opens the batch at the first tensor that needs it. False: nothing is measured on the device at this point. */
static bool open_batch(struct stream_point *p, const void *memory)
{
	bool dropped = false;

	if (p->open || p->refused)
		return p->open;
	p->open = device_batch_open(&p->batch, p->backend, p->stream, memory, &dropped);
	p->refused = !p->open;
	if (dropped)
		count_unmeasured();
	return p->open;
}

/* Describes the tensor for the device. Returns false if the device cannot measure it. */
static bool set_device_tensor(
	struct device_tensor *t, const struct buffer *v, uintptr_t lo, uintptr_t hi)
{
	struct buffer_walk w;

	*t = (struct device_tensor){.address = (uintptr_t)v->base,
		.lo = lo,
		.hi = hi,
		.count = v->count,
		.dtype = v->dtype,
		.eps = get_calls_keys(get_config())->eps};
	if (v->layout == BUFFER_CONTIG)
		return true;
	if (!(v->layout == BUFFER_SEGMENTS ? buffer_compute_segment_walk : buffer_compute_walk)(
		    v, &w))
		return false;
	t->address = w.base;
	if (w.n == 1 && w.stride_bytes[0] == get_dtype_info(v->dtype)->size)
		return true;
	if (w.n > STATS_DIMS - 1)
		return false;
	t->ndim = w.n;
	for (unsigned i = 0; i < w.n; i++) {
		t->size[i] = w.size[i];
		t->step[i] = (int64_t)w.stride_bytes[i];
	}
	return true;
}

static uint32_t measure_on_device(
	struct stream_point *p, const struct buffer *v, uintptr_t lo, uintptr_t hi)
{
	struct buffer_part part;
	struct device_tensor t;
	bool dropped = false;
	uint32_t snapshot;

	if (p->op)
		v = slice_get_part(p->op, v, &part);
	if (v == &part.buffer && !buffer_get_bounds(v, &lo, &hi))
		return 0;
	if (!set_device_tensor(&t, v, lo, hi))
		return 0;
	snapshot = device_batch_add(&p->batch, &t, &dropped);
	if (dropped)
		count_unmeasured();
	return snapshot;
}

uint32_t stream_point_mark(struct stream_point *p, bool alone)
{
	if (alone && !p->open && p->backend && p->backend->driver && tensor_watch.reach &&
		get_calls_keys(get_config())->device <= CONFIG_DEVICE_KERNEL && !tensor_watch.bytes)
		open_batch(p, NULL);
	return p->open ? device_batch_add_mark(&p->batch, alone) : 0;
}

void stream_init_device(void)
{
	enum config_device how = get_calls_keys(get_config())->device;
	const struct device_backend *b = device_present();

	if (!b || how == CONFIG_DEVICE_OFF)
		return;
	if (how <= CONFIG_DEVICE_KERNEL)
		device_prepare(b);
	if ((how == CONFIG_DEVICE_COPY || tensor_watch.bytes) && b->init_copies &&
		device_can_wait())
		b->init_copies();
}

/* ---- each buffer ---- */

void stream_decide(struct stream_point *p, struct buffer *v)
{
	enum config_device how = get_calls_keys(get_config())->device;
	/* Observers that need the bytes themselves get a copy. */
	bool copy = how == CONFIG_DEVICE_COPY || (how != CONFIG_DEVICE_OFF && tensor_watch.bytes);
	bool kernel = how <= CONFIG_DEVICE_KERNEL && !copy, ours;
	enum device_memory kind;
	uintptr_t lo, hi;

	v->snapshot = 0;
	if (!tensor_is_watched(v))
		return;
	v->nostats = 1;
	if (!buffer_get_bounds(v, &lo, &hi))
		return;
	device_is_host(p->backend, (const void *)lo, hi - lo, &kind);
	kernel = kernel && kind > DEVICE_HOST && p->backend->driver &&
		 open_batch(p, (const void *)lo);
	/*
	 * An output is valid only when the stream has written it, so it is measured on the
	 * stream. So is an input in pinned memory, which a stream may still write, if key device
	 * allows it.
	 */
	ours = kind == DEVICE_IDLE ||
	       (v->io == IO_IN &&
		       (kind == DEVICE_HOST || (kind == DEVICE_PINNED && !copy && !kernel)));
	v->host = ours;
	if (ours)
		v->nostats = !device_probe((const void *)lo, hi - lo);
	else if (kernel)
		v->snapshot = measure_on_device(p, v, lo, hi);
	else if (copy && kind != DEVICE_HOST)
		v->snapshot = copy_to_snapshot(p->backend, p->stream, v, lo, hi);
}

void stream_decide_all(
	struct stream_point *p, const struct adapter *lib, struct buffer *v, unsigned n)
{
	/* With an unknown runtime it is not known when a stream has written an output. */
	bool unknown = !p->backend && p->stream && lib->unknown_streams && n && v->io == IO_OUT;

	for (; n; n--, v++) {
		if (unknown)
			v->nostats = 1;
		else
			stream_decide(p, v);
	}
}

void stream_decide_placed(struct stream_point *p, struct buffer *v, unsigned n)
{
	enum device_memory kind;
	uintptr_t lo, hi;

	for (; n; n--, v++) {
		if (v->device) {
			stream_decide(p, v);
			continue;
		}
		if (v->io != IO_OUT || v->nostats || !buffer_get_bounds(v, &lo, &hi))
			continue;
		v->host = device_is_host(p->backend, (const void *)lo, hi - lo, &kind) &&
			  kind != DEVICE_PINNED;
		if (kind == DEVICE_PINNED)
			stream_decide(p, v);
	}
}

/* ---- tensors that belong to no call ---- */

void stream_point_start(struct stream_point *p, uint64_t stream)
{
	stream_point_begin(p, device_known(), stream);
}

uint32_t stream_measure(struct stream_point *p, const struct buffer *v)
{
	enum config_device how = get_calls_keys(get_config())->device;
	enum device_memory kind;
	uintptr_t lo, hi;

	if (!p->backend || how == CONFIG_DEVICE_OFF || !v->device || !v->base ||
		v->dtype == DT_OTHER || !buffer_get_bounds(v, &lo, &hi))
		return 0;
	/* Work that is put on a stream while it is captured would become part of the job's graph. */
	if (!p->open && p->backend->capturing(p->stream))
		return 0;
	device_is_host(p->backend, (const void *)lo, hi - lo, &kind);
	if (kind <= DEVICE_HOST)
		return 0;
	if (how == CONFIG_DEVICE_COPY)
		return hi - lo == v->bytes ? copy_to_snapshot(p->backend, p->stream, v, lo, hi) : 0;
	return p->backend->driver && open_batch(p, (const void *)lo)
		       ? measure_on_device(p, v, lo, hi)
		       : 0;
}

static void measure_snapshot(const void *at, enum dtype dtype, uint64_t count, struct stats *out)
{
	struct stats_acc acc;
	struct stats_fenv fenv;

	out->n = 0;
	stats_fenv_set(&fenv);
	if (!stats_begin(&acc, dtype, get_calls_keys(get_config())->eps)) {
		stats_add(&acc, at, count);
		stats_end(&acc, out);
	}
	stats_fenv_reset(&fenv);
}

int stream_read_result(uint32_t snapshot, enum dtype dtype, uint64_t count, struct stats *out)
{
	const struct device_backend *b = device_known();
	const void *at = NULL;
	uint32_t crc;
	int state;

	if (SNAPSHOT_IS_MEASURED(snapshot))
		return device_measured(snapshot, out, &crc);
	state = b ? b->poll(snapshot, &at) : -EIO;
	if (state == 1)
		measure_snapshot(at, dtype, count, out);
	return state;
}

void stream_remove_result(uint32_t snapshot)
{
	stream_drop_snapshot(device_known(), snapshot);
}
