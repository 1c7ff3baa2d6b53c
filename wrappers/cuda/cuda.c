/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA as a device backend: the driver's functions, of the libcuda.so.1 that is loaded. The driver, for there is one in a
 * process, while there may be several copies of the runtime; it has no error state that a program could find changed.
 * Nothing here starts CUDA, waits for a device, or touches a stream that is being captured.
 *
 * Snapshots lie in one region of page-locked host memory, allocated at the first (copies to other memory would wait).
 * It is handed out in pages; a snapshot that is not needed any more gives its pages back when its event has passed.
 *
 * Lock: `lock` guards the table of snapshots; a leaf but for the driver's own locks. A forked child never uses it:
 * CUDA does not work there.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "elf/loaded/elfsym.h"
#include "life/life.h"
#include "wrappers/gpu/gpu.h"
#include "wrappers/layout_facts.h"

enum {
	SUCCESS = 0,
	INVALID_VALUE = 1, /* of a pointer: none of CUDA's */
	NOT_INITIALIZED = 3,
	NOT_READY = 600,

	CONTEXT = 1, /* CU_POINTER_ATTRIBUTE_... */
	MEMORY_TYPE = 2,
	IS_MANAGED = 8,
	MEMORY_HOST = 1, /* CU_MEMORYTYPE_HOST */
	NO_TIMING = 2, /* CU_EVENT_DISABLE_TIMING */
	RELAXED = 2, /* CU_STREAM_CAPTURE_MODE_RELAXED */
};

/* Streams, events and contexts are pointers, addresses of device memory 64-bit integers. */
static struct {
	/* out: as large as the attribute is, an int or a pointer. */
	int (*pointer_get_attribute)(void *out, int what, uint64_t p);
	int (*stream_is_capturing)(void *stream, int *state);
	int (*thread_exchange_stream_capture_mode)(int *mode);
	int (*stream_get_ctx)(void *stream, void **ctx);
	int (*ctx_push_current)(void *ctx);
	int (*ctx_pop_current)(void **ctx);
	int (*mem_host_alloc)(void **p, size_t bytes, unsigned flags);
	int (*memcpy_async)(uint64_t to, uint64_t from, size_t bytes, void *stream);
	int (*event_create)(void **event, unsigned flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
} cu;

static bool cuda_attach(void)
{
	static const struct gpu_function want[] = {
		{"cuPointerGetAttribute", &cu.pointer_get_attribute},
		{"cuStreamIsCapturing", &cu.stream_is_capturing},
		{"cuThreadExchangeStreamCaptureMode", &cu.thread_exchange_stream_capture_mode},
		{"cuStreamGetCtx", &cu.stream_get_ctx},
		{"cuCtxPushCurrent_v2", &cu.ctx_push_current},
		{"cuCtxPopCurrent_v2", &cu.ctx_pop_current},
		{"cuMemHostAlloc", &cu.mem_host_alloc},
		{"cuMemcpyAsync", &cu.memcpy_async},
		{"cuEventCreate", &cu.event_create},
		{"cuEventDestroy_v2", &cu.event_destroy},
		{"cuEventRecord", &cu.event_record},
		{"cuEventQuery", &cu.event_query},
	};

	const size_t n = sizeof(want) / sizeof(*want);
	size_t found = gpu_find_functions(want, n, "libcuda.so");

	if (found < n) {
		/* Another library of that name; without any there is nothing to verify. */
		if (found)
			session_layout_fact(LAYOUT_CUDA_DRIVER, false);
		return false;
	}
	cuda_kernel_attach();
	session_layout_fact(LAYOUT_CUDA_DRIVER, true);
	return true;
}

static enum device_memory cuda_memory_kind(const void *p)
{
	uint64_t at = (uint64_t)(uintptr_t)p;
	unsigned type = 0, managed = 0;

	switch (cu.pointer_get_attribute(&type, MEMORY_TYPE, at)) {
	case SUCCESS:
		break;
	case INVALID_VALUE:
		return DEVICE_HOST;
	case NOT_INITIALIZED:
		return DEVICE_IDLE;
	default:
		return DEVICE_MEMORY;
	}
	/* The processor can read managed memory, but that may move it to the host, or crash while a kernel runs. */
	if (type != MEMORY_HOST || cu.pointer_get_attribute(&managed, IS_MANAGED, at) || managed)
		return DEVICE_MEMORY;
	return DEVICE_PINNED;
}

/*
 * Another thread's capture in global mode would be spoilt by what we ask here, in relaxed mode it is not. Streams belong
 * to a context; that of the thread may be another one.
 */
struct guard {
	int mode;
	bool relaxed, pushed;
	void *ctx;
};

/* Each context has a stream 0 of its own: that of the memory is meant, whatever the thread is at. */
static bool find_context(void *stream, const void *memory, void **ctx)
{
	if (!stream &&
		cu.pointer_get_attribute(ctx, CONTEXT, (uint64_t)(uintptr_t)memory) == SUCCESS &&
		*ctx)
		return true;
	return cu.stream_get_ctx(stream, ctx) == SUCCESS && *ctx;
}

static bool guard_enter(struct guard *g, void *stream, const void *memory)
{
	*g = (struct guard){.mode = RELAXED};
	g->relaxed = cu.thread_exchange_stream_capture_mode(&g->mode) == SUCCESS;
	if (!find_context(stream, memory, &g->ctx))
		return false;
	g->pushed = cu.ctx_push_current(g->ctx) == SUCCESS;
	return g->pushed;
}

static void guard_leave(struct guard *g)
{
	void *ctx;

	if (g->pushed)
		cu.ctx_pop_current(&ctx);
	if (g->relaxed)
		cu.thread_exchange_stream_capture_mode(&g->mode);
}

static bool is_stream_capturing(uint64_t stream)
{
	int state = 0, r = cu.stream_is_capturing((void *)(uintptr_t)stream, &state);

	/* Invalidated captures count as well, and no answer (another capture is in the way of the stream 0). */
	return r != NOT_INITIALIZED && (r != SUCCESS || state != 0);
}

/* ---- snapshots ---- */

#define PAGE ((size_t)64 << 10)
#define PAGES 1024u
#define SHOTS 4096u

static struct shot {
	void *event, *ctx; /* kept for the next snapshot in the same context */
	uint32_t first, pages; /* pages 0: free */
	bool unwanted;
} shots[SHOTS];
static uint8_t taken[PAGES];
static char *region;
static bool refused; /* page-locked memory cannot be had */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void give_back_shot(struct shot *s)
{
	memset(taken + s->first, 0, s->pages);
	s->pages = 0;
}

/* Those that are not needed and whose copy is done. */
static void sweep_unwanted_shots(void)
{
	for (uint32_t i = 1; i < SHOTS; i++)
		if (shots[i].unwanted && shots[i].pages &&
			cu.event_query(shots[i].event) != NOT_READY)
			give_back_shot(&shots[i]);
}

/* First fit. PAGES: there is none. */
static uint32_t find_pages(uint32_t n)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < PAGES; i++) {
		run = taken[i] ? 0 : run + 1;
		if (run == n)
			return i + 1 - n;
	}
	return PAGES;
}

static struct shot *find_shot(void *ctx)
{
	struct shot *any = NULL;

	for (uint32_t i = 1; i < SHOTS; i++) {
		if (shots[i].pages)
			continue;
		if (shots[i].ctx == ctx)
			return &shots[i];
		if (!any || !shots[i].event)
			any = &shots[i];
		if (!shots[i].event)
			break; /* those behind it were never used either */
	}
	return any;
}

static bool have_event(struct shot *s, void *ctx)
{
	if (s->event && s->ctx == ctx)
		return true;
	if (s->event)
		cu.event_destroy(s->event);
	s->event = NULL;
	s->ctx = ctx;
	return cu.event_create(&s->event, NO_TIMING) == SUCCESS;
}

/* With lock held, in the stream's context. */
static int take_shot(void *stream, void *ctx, const void *from, size_t bytes, uint32_t *shot)
{
	uint32_t n = (uint32_t)((bytes + PAGE - 1) / PAGE), at;
	struct shot *s;
	void *mem = NULL;

	if (!region && !refused) {
		refused =
			cu.mem_host_alloc(&mem, PAGE * PAGES, 1 /* for all contexts */) != SUCCESS;
		region = refused ? NULL : mem;
	}
	if (!region)
		return -ENOBUFS;
	at = find_pages(n);
	if (at == PAGES) {
		sweep_unwanted_shots();
		at = find_pages(n);
	}
	s = find_shot(ctx);
	if (at == PAGES || !s)
		return -ENOBUFS;
	if (!have_event(s, ctx) || cu.memcpy_async((uint64_t)(uintptr_t)(region + at * PAGE),
					   (uint64_t)(uintptr_t)from, bytes, stream) != SUCCESS)
		return -EIO;
	memset(taken + at, 1, n);
	s->first = at;
	s->pages = n;
	/* Without the mark the end of the copy is unknown: its pages are never used again. */
	s->unwanted = false;
	if (cu.event_record(s->event, stream) != SUCCESS)
		return -EIO;
	*shot = (uint32_t)(s - shots);
	return 0;
}

static int cuda_copy(uint64_t stream, const void *from, size_t bytes, uint32_t *shot)
{
	void *s = (void *)(uintptr_t)stream;
	struct guard g;
	int err = -EIO;

	if (!bytes || bytes > PAGE * PAGES)
		return -ENOBUFS;
	if (guard_enter(&g, s, from)) {
		pthread_mutex_lock(&lock);
		err = take_shot(s, g.ctx, from, bytes, shot);
		pthread_mutex_unlock(&lock);
	}
	guard_leave(&g);
	return err;
}

static int cuda_poll(uint32_t n, const void **at)
{
	int mode = RELAXED, state;
	bool relaxed = cu.thread_exchange_stream_capture_mode(&mode) == SUCCESS;

	state = cu.event_query(shots[n].event);
	if (relaxed)
		cu.thread_exchange_stream_capture_mode(&mode);
	if (state == NOT_READY)
		return 0;
	*at = region + shots[n].first * PAGE;
	return state == SUCCESS ? 1 : -EIO;
}

static void cuda_drop(uint32_t n)
{
	const void *at;
	bool done = cuda_poll(n, &at) != 0;

	pthread_mutex_lock(&lock);
	shots[n].unwanted = true;
	if (done)
		give_back_shot(&shots[n]);
	pthread_mutex_unlock(&lock);
}

static const struct device_backend cuda = {
	.name = "cuda",
	.library = "libcuda.so",
	.attach = cuda_attach,
	.memory = cuda_memory_kind,
	.capturing = is_stream_capturing,
	.copy = cuda_copy,
	.poll = cuda_poll,
	.drop = cuda_drop,
	.driver = &cuda_driver,
};

const struct device_backend *const device_backends[] = {&cuda, NULL};
