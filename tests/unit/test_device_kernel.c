/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel that goes to GPUs (preload/device/stats.cl), run by an OpenCL implementation for processors (PoCL), barriers
 * included, and its form in C that the stand-in for CUDA's driver runs: both against the reference of the processor's kernels.
 */
#include "stats_reference.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tmp_helper.h"

#include "device/stats_job.h"
#include "../doubles/cuda/stats_host.h"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

static struct {
	void *(*get)(const char *);
	cl_context context;
	cl_command_queue queue;
	cl_kernel kernel;
	const char *missing;
} ocl;

static void *cl_lib;

#define CLF(name) ((__typeof__(&name))dlsym(cl_lib, #name))

/*
 * PoCL runs a block's lanes as loops between barriers. If a kernel can return before a barrier (ours does in a launch
 * without jobs), PoCL runs lane 0 apart from its loop and then gives it the last lane's private variables. PoCL 3.1
 * (LLVM 14) does so only with optimization, PoCL 6.0 (LLVM 18) also without. "cbs", since PoCL 4.0, is another method
 * that has no such loss.
 */
static void set_pocl_method(cl_platform_id p)
{
	char version[200] = "";
	int major = 0;

	CLF(clGetPlatformInfo)(p, CL_PLATFORM_VERSION, sizeof(version), version, NULL);
	if (sscanf(version, "OpenCL %*s PoCL %d", &major) == 1 && major >= 4)
		setenv("POCL_WORK_GROUP_METHOD", "cbs", 0);
}

static char *read_kernel_source(const char *path)
{
	static char text[200000];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	return text;
}

static const char *open_pocl(void)
{
	const char *source = read_kernel_source("preload/device/stats.cl");
	cl_platform_id p;
	cl_device_id d;
	cl_program program;
	cl_int e;

	cl_lib = dlopen("libOpenCL.so.1", RTLD_NOW);
	if (!cl_lib)
		return "libOpenCL.so.1 is not there";
	if (CLF(clGetPlatformIDs)(1, &p, NULL) ||
		CLF(clGetDeviceIDs)(p, CL_DEVICE_TYPE_CPU, 1, &d, NULL))
		return "there is no OpenCL for the processor";
	if (!source)
		return "the source is not here";
	set_pocl_method(p);
	ocl.context = CLF(clCreateContext)(NULL, 1, &d, NULL, NULL, &e);
	ocl.queue = CLF(clCreateCommandQueue)(ocl.context, d, 0, &e);
	program = CLF(clCreateProgramWithSource)(ocl.context, 1, &source, NULL, &e);
	/* -cl-opt-disable: PoCL before 4.0 has no "cbs" (set_pocl_method) */
	e = CLF(clBuildProgram)(program, 1, &d, "-cl-opt-disable -I preload/device", NULL, NULL);
	if (e) {
		static char log[20000];

		CLF(clGetProgramBuildInfo)
		(program, d, CL_PROGRAM_BUILD_LOG, sizeof(log), log, NULL);
		print_message("%s\n", log);
		fail_msg("the kernel does not compile: %d", e);
	}
	ocl.kernel = CLF(clCreateKernel)(program, "probe_stats", &e);
	assert_int_equal(e, 0);
	return NULL;
}

static void run_by_pocl(const struct stats_launch *l, uint32_t blocks)
{
	size_t global = (size_t)blocks * STATS_THREADS_OF_DEVICE, local = STATS_THREADS_OF_DEVICE;

	assert_int_equal(CLF(clSetKernelArg)(ocl.kernel, 0, sizeof(*l), l), 0);
	assert_int_equal(CLF(clEnqueueNDRangeKernel)(
				 ocl.queue, ocl.kernel, 1, NULL, &global, &local, 0, NULL, NULL),
		0);
	assert_int_equal(CLF(clFinish)(ocl.queue), 0);
}
#else
static const char *open_pocl(void)
{
	return "CL/cl.h is not there";
}
static void run_by_pocl(const struct stats_launch *l, uint32_t blocks)
{
	(void)l;
	(void)blocks;
}
#endif

static void (*run)(const struct stats_launch *l, uint32_t blocks);

/* ---- a launch ---- */

static struct stats_slot slot;
static struct stats_part parts[STATS_PARTS];
static uint32_t counters[STATS_COUNTERS];
static struct stats_launch launch;
static struct device_measured measured[STATS_JOBS];
static uint32_t blocks;

static void begin(void)
{
	static uint32_t number;

	launch.jobs = 0;
	launch.number = ++number;
	launch.slot = (uintptr_t)&slot;
	launch.parts = (uintptr_t)parts;
	launch.counters = (uintptr_t)counters;
	blocks = 0;
}

static void add(const struct device_tensor *t)
{
	struct stats_job *job = &launch.job[launch.jobs];

	assert_true(stats_job_make(job, t));
	job->first_block = blocks;
	blocks += job->blocks;
	assert_true(blocks <= STATS_PARTS);
	measured[launch.jobs++] =
		(struct device_measured){t->eps, t->count, (uint8_t)t->dtype, t->checksum};
}

static void finish(void)
{
	memset(&slot, 0xee, sizeof(slot));
	run(&launch, blocks ? blocks : 1);
	assert_int_equal(slot.done, launch.number);
	for (int i = 0; i < STATS_COUNTERS; i++)
		assert_int_equal(counters[i], 0);
}

static uint32_t xor_of(const void *p, size_t n)
{
	const unsigned char *b = p;
	uint32_t x = 0;

	for (size_t i = 0; i < n; i++)
		x ^= (uint32_t)b[i] << i % 4 * 8;
	return x;
}

static void expect(unsigned i, const void *data, const char *what)
{
	const struct device_measured *m = &measured[i];
	struct reference r;
	struct stats s;
	uint32_t crc;
	const char *wrong;

	stats_job_end(m, &slot.result[i], &s, &crc);
	ref_measure(m->dtype, data, m->count, m->eps, &r);
	if (!(m->eps > 0))
		r.zeros = 0;
	wrong = ref_compare(m->dtype, &s, &r);
	if (wrong)
		fail_msg("%s, %llu elements: %s", what, (unsigned long long)m->count, wrong);
	if (crc != xor_of(data, m->count * get_dtype_info(m->dtype)->size))
		fail_msg("%s, %llu elements of %s: the checksum is another one", what,
			(unsigned long long)m->count, get_dtype_info(m->dtype)->name);
}

/* ---- tensors ---- */

#define MOST 70000
static _Alignas(64) unsigned char room[16 * MOST + 64], row[16 * MOST];
static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255,
	256, 257, 511, 1000, 1023, 1025, 4095, 4097, 10007, 16384, 16385, 65536, 69999};
static const double thresholds[] = {1e-8, 0, 1, 0.02, 1e-320, 1e300};

static struct device_tensor tensor(void *at, uint64_t n, unsigned dt, double eps)
{
	return (struct device_tensor){
		.address = (uintptr_t)at, .count = n, .dtype = dt, .eps = eps, .checksum = true};
}

/* Types of which the CPU reads each byte by a table: the kernel must not take them for another type. */
static bool is_refused(unsigned dt)
{
	struct device_tensor t = tensor(room, 4, dt, 0);
	struct stats_job job;
	bool refused = dt == DT_FLOAT8_E8M0FNU || dt == DT_FLOAT8_E4M3FNUZ ||
		       dt == DT_FLOAT8_E5M2FNUZ || dt == DT_FLOAT4_E2M1FN_X2;

	assert_int_equal(stats_job_make(&job, &t), !refused);
	return refused;
}

static void check_every_type(void)
{
	uint64_t seed = 5;
	unsigned turn = 0;

	for (unsigned dt = DT_BOOL; dt < DT_COUNT; dt++)
		for (size_t c = is_refused(dt) ? sizeof(counts) : 0;
			c < sizeof(counts) / sizeof(*counts); c++)
			for (enum pattern p = 0; p < FILL_PATTERNS; p++, turn++) {
				size_t component =
					get_dtype_info(get_dtype_info(dt)->component)->size;
				/* Any multiple of the element's size. */
				unsigned char *at = room + turn % (16 / component) * component;
				double eps = thresholds[turn % 6];
				struct device_tensor t = tensor(at, counts[c], dt, eps);

				fill_tensor(dt, at, counts[c], p, &seed);
				begin();
				add(&t);
				finish();
				expect(0, at, "one after the other");
			}
}

/* Elements of a view, gathered in the order of its dimensions. */
static void gather(const struct device_tensor *t, size_t size)
{
	uint64_t index[STATS_DIMS] = {0};

	for (uint64_t i = 0; i < t->count; i++) {
		int64_t at = 0;

		for (unsigned d = 0; d < t->ndim; d++)
			at += (int64_t)index[d] * t->step[d];
		memcpy(row + i * size, (const char *)(uintptr_t)t->address + at, size);
		for (unsigned d = 0; d < t->ndim && ++index[d] == t->size[d]; d++)
			index[d] = 0;
	}
}

static void check_views(void)
{
	static const struct {
		unsigned ndim;
		uint64_t size[4];
		int64_t step[4]; /* elements */
	} views[] = {
		{1, {1000}, {3}},
		{1, {70}, {0}},
		{2, {33, 57}, {1, 64}},
		{2, {5, 200}, {2, 11}},
		{3, {7, 9, 40}, {1, 8, 90}},
		{3, {16, 3, 50}, {4, 0, 65}},
		{4, {3, 5, 7, 40}, {2, 7, 40, 300}},
		{4, {2, 2, 2, 2}, {1, 3, 9, 27}},
	};
	uint64_t seed = 9;

	for (unsigned dt = DT_BOOL; dt < DT_COUNT; dt++)
		for (size_t v = is_refused(dt) ? sizeof(views) : 0;
			v < sizeof(views) / sizeof(*views); v++) {
			size_t size = get_dtype_info(dt)->size;
			struct device_tensor t = tensor(room + size, 1, dt, 1e-8);

			fill_tensor(dt, room + size, 20000, FILL_EXTREME, &seed);
			t.ndim = views[v].ndim;
			for (unsigned d = 0; d < t.ndim; d++) {
				t.size[d] = views[v].size[d];
				t.step[d] = views[v].step[d] * (int64_t)size;
				t.count *= t.size[d];
			}
			begin();
			add(&t);
			finish();
			gather(&t, size);
			expect(0, row, "a view");
		}
}

/* A list: one launch. Neighbouring tensors do not change a tensor's digits. */
static void check_lists(void)
{
	struct stats alone, among;
	uint64_t seed = 1;
	uint32_t crc;

	fill_tensor(DT_FLOAT32, room, MOST, FILL_USUAL, &seed);
	begin();
	for (unsigned i = 0; i < STATS_JOBS; i++) {
		struct device_tensor t = tensor(room + 400 * i, i == 7 ? 60000 : 1 + 37 * i,
			i % 2 ? DT_FLOAT32 : DT_INT32, 0.5);

		add(&t);
	}
	finish();
	for (unsigned i = 0; i < STATS_JOBS; i++)
		expect(i, room + 400 * i, "a list");
	stats_job_end(&measured[7], &slot.result[7], &among, &crc);
	begin();
	{
		struct device_tensor t = tensor(room + 400 * 7, 60000, DT_FLOAT32, 0.5);

		add(&t);
	}
	finish();
	stats_job_end(&measured[0], &slot.result[0], &alone, &crc);
	assert_memory_equal(&alone, &among, sizeof(alone));
}

static void check_clock_only(void)
{
	begin();
	finish();
}

static void check_all(void)
{
	check_every_type();
	check_views();
	check_lists();
	check_clock_only();
}

static void test_pocl_has_the_references_figures(void **state)
{
	const char *missing = open_pocl();

	(void)state;
	if (missing) {
		print_message("# %s\n", missing);
		skip();
	}
	run = run_by_pocl;
	check_all();
}

static void test_the_form_in_c_has_the_references_figures(void **state)
{
	(void)state;
	run = stats_run_on_host;
	check_all();
}

/* A device would fault at an address between two elements. */
static void test_elements_between_multiples_of_their_size_are_refused(void **state)
{
	struct device_tensor t = tensor(room + 2, 4, DT_FLOAT32, 0);
	struct stats_job job;

	(void)state;
	assert_false(stats_job_make(&job, &t));
	t.address = (uintptr_t)room;
	assert_true(stats_job_make(&job, &t));
	t.ndim = 1;
	t.size[0] = 4;
	t.step[0] = 6;
	assert_false(stats_job_make(&job, &t));
	t.step[0] = 8;
	assert_true(stats_job_make(&job, &t));
	t.dtype = DT_OTHER;
	assert_false(stats_job_make(&job, &t));
	t.dtype = DT_FLOAT32;
	t.ndim = STATS_DIMS;
	assert_false(stats_job_make(&job, &t));
}

/*
 * LeakSanitizer: PoCL's threads are still there when the process ends on a busy machine, with what they hold. The name
 * is the sanitizer's.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl";
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pocl_has_the_references_figures),
		cmocka_unit_test(test_the_form_in_c_has_the_references_figures),
		cmocka_unit_test(test_elements_between_multiples_of_their_size_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
