/* SPDX-License-Identifier: Apache-2.0 */
/* See cuda_double.h. One lock for everything: this is not about speed. */
#include "cuda_double.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../preload/device/stats_launch.h"
#include "stats_host.h"

#define EXPORT __attribute__((visibility("default")))

struct item {
	struct item *next;
	void (*fn)(void *);
	void *arg, *to;
	const void *from;
	size_t bytes;
	CUevent event;
};

struct CUstream_st {
	int number;
	struct context *context;
	bool held, busy, blocking;
	int capture; /* CU_STREAM_CAPTURE_STATUS_: none, active, invalidated */
	struct item *first, **end;
	pthread_cond_t change;
};

struct CUevent_st {
	bool recorded;
	unsigned under_way; /* marks of it that streams have not passed */
};

enum kind { DEVICE = 2, PINNED = 1, MANAGED = 3, MAPPED = 4, RESERVED = 5 };

static struct memory {
	char *address, *alias;
	size_t bytes;
	enum kind kind;
	int device;
	bool no_access,
		elsewhere; /* cuMemSetAccess has not been called; a kernel finds it at another address */
} memories[256];
static int nmemories, nstreams, ncaptures;
static unsigned waits;
static bool initialised;
static struct CUstream_st streams[16];
static struct context {
	int device;
	unsigned users;
	unsigned long long id;
	bool launched; /* the kernel is there: it is loaded when it is first launched */
	CUstream stream;
} contexts[2];
static unsigned long long last_context;
static char log_text[65536], log_copy[65536];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define DEPTH 16
static __thread struct context *stack[DEPTH];
static __thread int depth; /* the current context is the last */
static __thread int capture_mode; /* global */

static struct context *current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static void note(const char *fmt, ...)
{
	size_t n = strlen(log_text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(log_text + n, sizeof(log_text) - n, fmt, ap);
	va_end(ap);
}

/* ---- memory ---- */

static struct memory *find(const void *p)
{
	for (int i = 0; i < nmemories; i++)
		if ((const char *)p >= memories[i].address &&
			(const char *)p < memories[i].address + memories[i].bytes)
			return &memories[i];
	return NULL;
}

EXPORT void *double_device_alias(const void *p)
{
	struct memory *m;
	void *out;

	pthread_mutex_lock(&lock);
	m = find(p);
	out = m ? m->alias + ((const char *)p - m->address) : (void *)(uintptr_t)p;
	pthread_mutex_unlock(&lock);
	return out;
}

static CUresult allocate(void **out, size_t bytes, enum kind kind)
{
	int fd = memfd_create("device", MFD_CLOEXEC);
	struct memory *m = &memories[nmemories];

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		abort();
	*m = (struct memory){
		.bytes = bytes, .kind = kind, .device = current() ? current()->device : 0};
	m->alias = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	m->address = kind == PINNED ? m->alias : mmap(NULL, bytes, PROT_NONE, MAP_SHARED, fd, 0);
	close(fd);
	if (m->alias == MAP_FAILED || m->address == MAP_FAILED)
		abort();
	nmemories++;
	*out = m->address;
	return CUDA_SUCCESS;
}

/*
 * A function that may wait for the device is called. With DOUBLE_STRICT in the environment it does: until no stream has
 * anything to do, as long as that takes.
 */
static bool is_idle(void)
{
	for (int i = 0; i < nstreams; i++)
		if (streams[i].first || streams[i].busy)
			return false;
	return true;
}

static void wait_if_strict(void)
{
	static int strict = -1;

	if (strict < 0)
		strict = getenv("DOUBLE_STRICT") != NULL;
	waits++;
	while (strict && !is_idle()) {
		pthread_mutex_unlock(&lock);
		usleep(1000);
		pthread_mutex_lock(&lock);
	}
}

EXPORT unsigned double_waits(void)
{
	unsigned n;

	pthread_mutex_lock(&lock);
	n = waits;
	pthread_mutex_unlock(&lock);
	return n;
}

/* True if calls that are forbidden during a capture fail now: a stream is being captured, and the thread has not asked for leniency. */
static bool unsafe(void)
{
	if (!ncaptures || capture_mode == 2)
		return false;
	for (int i = 0; i < nstreams; i++)
		if (streams[i].capture)
			streams[i].capture = 2;
	return true;
}

static CUresult allocate_safely(void **out, size_t bytes, enum kind kind)
{
	CUresult r = CUDA_ERROR_NOT_INITIALIZED;

	pthread_mutex_lock(&lock);
	wait_if_strict();
	if (initialised)
		r = unsafe() ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : allocate(out, bytes, kind);
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
	return allocate_safely((void **)out, bytes, DEVICE);
}

EXPORT CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned flags)
{
	(void)flags;
	return allocate_safely((void **)out, bytes, MANAGED);
}

EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	(void)flags;
	return allocate_safely(out, bytes, PINNED);
}

/*
 * By CUDA's reference: whether kernels of the current context can read the memory at that address. Of memory without access nothing
 * but ACCESS_FLAGS tells.
 */
static CUresult device_pointer(const struct memory *m, CUdeviceptr p, CUdeviceptr *out)
{
	if (!current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (m->kind != PINNED && m->kind != MANAGED && m->device != current()->device)
		return CUDA_ERROR_INVALID_VALUE;
	*out = m->elsewhere ? p + (1 << 20) : p;
	return CUDA_SUCCESS;
}

static CUresult answer_attribute(const struct memory *m, int what, CUdeviceptr p, void *out)
{
	bool pieces = m->kind == MAPPED || m->kind == RESERVED;

	switch (what) {
	case 1:
		*(CUcontext *)out = pieces ? NULL : &contexts[m->device];
		return CUDA_SUCCESS;
	case 2:
		*(unsigned *)out = m->kind == PINNED ? 1 : 2;
		return CUDA_SUCCESS;
	case 3:
		return device_pointer(m, p, out);
	case 8:
		*(unsigned *)out = m->kind == MANAGED;
		return CUDA_SUCCESS;
	case 9:
		*(int *)out = m->device;
		return CUDA_SUCCESS;
	case 13:
		*(bool *)out = m->kind != RESERVED;
		return CUDA_SUCCESS;
	case 16:
		*(unsigned *)out = m->no_access ? 0 : 3;
		return m->kind == RESERVED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	case 18:
		*(size_t *)out = m->bytes;
		return pieces ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case 19:
		*(CUdeviceptr *)out = (CUdeviceptr)(uintptr_t)m->address;
		return pieces ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

EXPORT CUresult cuPointerGetAttribute(void *out, int what, CUdeviceptr p)
{
	CUresult r = CUDA_SUCCESS;
	struct memory *m;

	pthread_mutex_lock(&lock);
	m = find((const void *)(uintptr_t)p);
	if (!initialised)
		r = CUDA_ERROR_NOT_INITIALIZED;
	else
		r = m ? answer_attribute(m, what, p, out) : CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_unlock(&lock);
	return r;
}

/* ---- streams ---- */

/* 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD are the current context's, here one stream. */
static CUstream double_stream_of(CUstream s)
{
	struct context *c = current() ? current() : &contexts[0];

	return (uintptr_t)s <= 2 ? c->stream : s;
}

static void do_item(struct item *i)
{
	if (i->fn)
		i->fn(i->arg);
	else if (i->bytes)
		memcpy(double_device_alias(i->to), double_device_alias(i->from), i->bytes);
}

static void *stream_main(void *arg)
{
	CUstream s = arg;
	struct item *i;

	pthread_mutex_lock(&lock);
	for (;;) {
		while (!s->first || s->held)
			pthread_cond_wait(&s->change, &lock);
		i = s->first;
		s->first = i->next;
		if (!s->first)
			s->end = &s->first;
		s->busy = true;
		pthread_mutex_unlock(&lock);
		do_item(i);
		pthread_mutex_lock(&lock);
		if (i->event)
			i->event->under_way--;
		s->busy = false;
		pthread_cond_broadcast(&s->change);
		free(i);
	}
	return NULL;
}

static void new_stream(CUstream *out, struct context *c, bool blocking)
{
	CUstream s = &streams[nstreams];
	pthread_t thread;

	if (nstreams == sizeof(streams) / sizeof(*streams))
		abort();
	s->number = nstreams++;
	s->context = c;
	s->blocking = blocking;
	s->end = &s->first;
	pthread_cond_init(&s->change, NULL);
	if (pthread_create(&thread, NULL, stream_main, s))
		abort();
	pthread_detach(thread);
	*out = s;
}

static void activate(struct context *c)
{
	if (c->users++)
		return;
	c->device = (int)(c - contexts);
	c->id = ++last_context;
	c->launched = false;
	if (!c->stream)
		new_stream(&c->stream, c, true);
}

/* As the first call of CUDA's runtime: the first device's context is there, and is the thread's. */
EXPORT CUresult cuInit(unsigned flags)
{
	(void)flags;
	pthread_mutex_lock(&lock);
	if (!initialised)
		activate(&contexts[0]);
	initialised = true;
	if (!depth)
		stack[depth++] = &contexts[0];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	if (!current())
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&lock);
	new_stream(out, current(), !flags);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* A call on the legacy stream depends on all blocking streams of its context: while one is captured it is forbidden. */
static bool depends_on_capture(CUstream s)
{
	if (s != s->context->stream)
		return false;
	for (int i = 0; i < nstreams; i++)
		if (streams[i].context == s->context && streams[i].blocking && &streams[i] != s &&
			streams[i].capture)
			return true;
	return false;
}

static void spoil_captures(struct context *c)
{
	for (int i = 0; i < nstreams; i++)
		if (streams[i].context == c && streams[i].blocking && streams[i].capture)
			streams[i].capture = 2;
}

/* Puts a thing on the stream, or into the capture, where it is forgotten. */
static CUresult put(CUstream s, struct item what, const char *name)
{
	CUresult r = CUDA_SUCCESS;
	struct item *i;

	s = double_stream_of(s);
	pthread_mutex_lock(&lock);
	if (!initialised) {
		r = CUDA_ERROR_NOT_INITIALIZED;
	} else if (current() != s->context) {
		r = CUDA_ERROR_INVALID_CONTEXT;
	} else if (depends_on_capture(s)) {
		spoil_captures(s->context);
		r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	} else if (s->capture) {
		note("s%d captured %s\n", s->number, name);
		r = s->capture == 2 ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
	} else {
		note(what.bytes ? "s%d %s %zu\n" : "s%d %s\n", s->number, name, what.bytes);
		i = malloc(sizeof(*i));
		if (!i)
			abort();
		*i = what;
		*s->end = i;
		s->end = &i->next;
		if (i->event) {
			i->event->recorded = true;
			i->event->under_way++;
		}
		pthread_cond_broadcast(&s->change);
	}
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	return put(s,
		(struct item){.to = (void *)(uintptr_t)to,
			.from = (void *)(uintptr_t)from,
			.bytes = bytes},
		"copy");
}

EXPORT CUresult cuLaunchHostFunc(CUstream s, void (*fn)(void *), void *arg)
{
	return put(s, (struct item){.fn = fn, .arg = arg}, "launch");
}

EXPORT CUresult cuEventRecord(CUevent e, CUstream s)
{
	return put(s, (struct item){.event = e}, "mark");
}

EXPORT CUresult cuStreamSynchronize(CUstream s)
{
	s = double_stream_of(s);
	pthread_mutex_lock(&lock);
	waits++;
	while (s->first || s->busy)
		pthread_cond_wait(&s->change, &lock);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamGetCtx(CUstream s, CUcontext *ctx)
{
	if (!initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if ((uintptr_t)s <= 2 && !current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx = double_stream_of(s)->context;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
	struct context *c = ctx;

	if (!c || !c->users || depth == DEPTH)
		return CUDA_ERROR_INVALID_CONTEXT;
	stack[depth++] = c;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
	if (!depth)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ctx = stack[--depth];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext ctx)
{
	depth -= depth > 0;
	return ctx ? cuCtxPushCurrent_v2(ctx) : CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = current();
	return initialised ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

EXPORT CUresult cuCtxGetDevice(int *device)
{
	if (!current())
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = current()->device;
	return CUDA_SUCCESS;
}

#ifndef DOUBLE_CUDA_11
EXPORT CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
	struct context *c = ctx;

	if (!c || !c->users)
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = c->id;
	return CUDA_SUCCESS;
}
#endif

EXPORT CUresult cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return ordinal < 0 || ordinal > 1 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	*flags = 0;
	pthread_mutex_lock(&lock);
	*active = contexts[device].users > 0;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, int device)
{
	pthread_mutex_lock(&lock);
	activate(&contexts[device]);
	pthread_mutex_unlock(&lock);
	*ctx = &contexts[device];
	return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(int device)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (contexts[device].users)
		contexts[device].users--;
	else
		r = CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_unlock(&lock);
	return r;
}

#include "cuda_launches.h"

/* ---- captures ---- */

/* Asked about the legacy stream while a blocking one is captured: an error, and no capture is invalidated. */
EXPORT CUresult cuStreamIsCapturing(CUstream s, int *state)
{
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (!initialised)
		r = CUDA_ERROR_NOT_INITIALIZED;
	else if (depends_on_capture(double_stream_of(s)))
		r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	else
		*state = double_stream_of(s)->capture;
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream s, int mode)
{
	(void)mode;
	pthread_mutex_lock(&lock);
	double_stream_of(s)->capture = 1;
	ncaptures++;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream s, CUgraph *graph)
{
	CUresult r;

	pthread_mutex_lock(&lock);
	r = double_stream_of(s)->capture == 2 ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
					      : CUDA_SUCCESS;
	double_stream_of(s)->capture = 0;
	ncaptures--;
	*graph = NULL;
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
	int was = capture_mode;

	capture_mode = *mode;
	*mode = was;
	return CUDA_SUCCESS;
}

/* ---- events ---- */

EXPORT CUresult cuEventCreate(CUevent *out, unsigned flags)
{
	(void)flags;
	*out = calloc(1, sizeof(**out));
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent e)
{
	free(e);
	return CUDA_SUCCESS;
}

EXPORT CUresult cuEventQuery(CUevent e)
{
	CUresult r;

	pthread_mutex_lock(&lock);
	waits++;
	r = unsafe()	   ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	    : e->under_way ? CUDA_ERROR_NOT_READY
			   : CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	return r;
}

/* ---- the double's own ---- */

static void set_held(CUstream s, bool held)
{
	pthread_mutex_lock(&lock);
	double_stream_of(s)->held = held;
	pthread_cond_broadcast(&double_stream_of(s)->change);
	pthread_mutex_unlock(&lock);
}

EXPORT void double_hold(CUstream s)
{
	set_held(s, true);
}

EXPORT void double_release(CUstream s)
{
	set_held(s, false);
}

/*
 * Memory of the current context that is mapped piece by piece, as PyTorch's expandable segments: one address range of `pieces`. The hole is
 * reserved only; to the locked one cuMemSetAccess has not given access. -1: there is none.
 */
EXPORT void *double_map(int pieces, size_t bytes, int hole, int locked)
{
	void *first = NULL;
	struct memory *m;

	pthread_mutex_lock(&lock);
	allocate(&first, (size_t)pieces * bytes, MAPPED);
	m = &memories[nmemories - 1];
	m->bytes = bytes;
	m->kind = hole == 0 ? RESERVED : MAPPED;
	m->no_access = locked == 0;
	for (int i = 1; i < pieces; i++) {
		memories[nmemories] = *m;
		memories[nmemories].address += (size_t)i * bytes;
		memories[nmemories].alias += (size_t)i * bytes;
		memories[nmemories].kind = i == hole ? RESERVED : MAPPED;
		memories[nmemories++].no_access = i == locked;
	}
	pthread_mutex_unlock(&lock);
	return first;
}

/* Host memory that was registered where kernels find it at another address. */
EXPORT void *double_register_elsewhere(size_t bytes)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	allocate(&p, bytes, PINNED);
	memories[nmemories - 1].elsewhere = true;
	pthread_mutex_unlock(&lock);
	return p;
}

EXPORT const char *double_log(void)
{
	pthread_mutex_lock(&lock);
	memcpy(log_copy, log_text, sizeof(log_copy));
	log_text[0] = 0;
	pthread_mutex_unlock(&lock);
	return log_copy;
}
