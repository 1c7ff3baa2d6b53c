/* SPDX-License-Identifier: Apache-2.0 */
/* A part of cuda.c: modules, and the one kernel that the stand-in knows. */
EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
	struct memory *m;

	pthread_mutex_lock(&lock);
	m = find((const void *)(uintptr_t)p);
	if (m && (m->kind == RESERVED || (m->kind == MAPPED && getenv("DOUBLE_NO_RANGE")))) {
		pthread_mutex_unlock(&lock);
		return CUDA_ERROR_NOT_FOUND;
	}
	if (m) {
		*base = (CUdeviceptr)(uintptr_t)m->address;
		*bytes = m->bytes;
	}
	pthread_mutex_unlock(&lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* When all that streams were given is done. */
EXPORT CUresult cuMemFree_v2(CUdeviceptr p)
{
	struct memory *m;

	pthread_mutex_lock(&lock);
	waits++;
	while (!is_idle()) {
		pthread_mutex_unlock(&lock);
		usleep(1000);
		pthread_mutex_lock(&lock);
	}
	m = find((const void *)(uintptr_t)p);
	if (m) {
		munmap(m->address, m->bytes);
		if (m->alias != m->address)
			munmap(m->alias, m->bytes);
		*m = memories[--nmemories];
	}
	pthread_mutex_unlock(&lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult do_carefully(void)
{
	CUresult r;

	pthread_mutex_lock(&lock);
	wait_if_strict();
	r = !initialised ? CUDA_ERROR_NOT_INITIALIZED
	    : !current() ? CUDA_ERROR_INVALID_CONTEXT
	    : unsafe()	 ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
			 : CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	return r;
}

EXPORT CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags)
{
	(void)p;
	(void)bytes;
	(void)flags;
	return do_carefully();
}

EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *p, unsigned flags)
{
	(void)flags;
	*device = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

/* A real driver compiles here, on the caller's stack: far more than a thread's work usually takes. */
__attribute__((noinline)) static void use_stack(void)
{
	volatile char frame[3 << 20];

	for (size_t i = 0; i < sizeof(frame); i += 4096)
		frame[sizeof(frame) - 1 - i] = 0;
}

EXPORT CUresult cuModuleLoadData(void **module, const void *image)
{
	CUresult r = do_carefully();

	use_stack();
	*module = current();
	if (getenv("DOUBLE_NO_KERNEL") || !strstr(image, ".entry probe_stats("))
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

EXPORT CUresult cuModuleGetFunction(void **function, void *module, const char *name)
{
	*function = module;
	return strcmp(name, "probe_stats") ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

struct filling {
	CUdeviceptr at;
	size_t bytes;
	unsigned char value;
};

static void fill_memory(void *arg)
{
	struct filling *f = arg;

	memset(double_device_alias((void *)(uintptr_t)f->at), f->value, f->bytes);
	free(f);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t bytes, CUstream s)
{
	struct filling *f = malloc(sizeof(*f));

	*f = (struct filling){p, bytes, value};
	return put(s, (struct item){.fn = fill_memory, .arg = f}, "fill");
}

/* A device's fault ends the context; here it ends the test. */
static void check_extent(const struct stats_job *job, int device)
{
	static const uint8_t size_of[STATS_FORMATS] = {
		[STATS_U8] = 1, 1, 2, 2, 4, 4, 8, 8, 1, 1, 2, 2, 4, 8, 1};
	uint64_t lo = job->address, hi = lo + size_of[job->format];
	struct memory *m;

	if (!job->ndim)
		hi = lo + job->count * size_of[job->format];
	for (uint32_t d = 0; d < job->ndim; d++)
		hi += (job->size[d] - 1) * (uint64_t)job->step[d];
	pthread_mutex_lock(&lock);
	for (uint64_t at = lo; at < hi; at = (uint64_t)(uintptr_t)m->address + m->bytes) {
		m = find((const void *)(uintptr_t)at);
		if (m && m->kind != RESERVED && !m->no_access && !m->elsewhere &&
			(m->device == device || m->kind == PINNED || m->kind == MANAGED))
			continue;
		fprintf(stderr, "the kernel reads %llu bytes at %#llx, which are not all there\n",
			(unsigned long long)(hi - lo), (unsigned long long)lo);
		abort();
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t alias_of(uint64_t at)
{
	return (uint64_t)(uintptr_t)double_device_alias((void *)(uintptr_t)at);
}

struct launching {
	struct stats_launch launch;
	unsigned blocks;
	int device;
};

static void run_kernel(void *arg)
{
	struct launching *l = arg;

	for (uint32_t i = 0; i < l->launch.jobs; i++) {
		check_extent(&l->launch.job[i], l->device);
		l->launch.job[i].address = alias_of(l->launch.job[i].address);
	}
	l->launch.parts = alias_of(l->launch.parts);
	l->launch.counters = alias_of(l->launch.counters);
	stats_run_on_host(&l->launch, l->blocks);
	free(l);
}

EXPORT CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
	unsigned by, unsigned bz, unsigned shared, CUstream s, void **arguments, void **extra)
{
	struct launching *l = malloc(sizeof(*l));
	struct context *c = function;
	static unsigned launches;
	char name[32];

	(void)shared;
	(void)extra;
	if (gy != 1 || gz != 1 || bx != STATS_THREADS || by != 1 || bz != 1)
		abort();
	if (c != current())
		return CUDA_ERROR_INVALID_HANDLE; /* of another context's module */
	pthread_mutex_lock(&lock);
	if (!c->launched)
		wait_if_strict(); /* CUDA_MODULE_LOADING=LAZY: the first launch loads it */
	c->launched = true;
	pthread_mutex_unlock(&lock);
	l->device = c->device;
	memcpy(&l->launch, arguments[0], sizeof(l->launch));
	l->blocks = gx;
	snprintf(name, sizeof(name), "values of %u", l->launch.jobs);
	if (getenv("DOUBLE_LOSE_AT") && launches++ == (unsigned)atoi(getenv("DOUBLE_LOSE_AT")))
		return 700;
	return put(s, (struct item){.fn = run_kernel, .arg = l}, name);
}
