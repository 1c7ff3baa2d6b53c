/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statistics kernel alone, on the GPU that is there, by the PTX that is part of libprobe.so: kernel_gpu [MIB [TIMES]]
 *
 * First every type, odd sizes, NaN, Inf, denormals and strides against the reference of the processor's kernels. Then, on lines
 * that begin with "#", its rate for each type at MIB (default 256), against what this GPU reads: the rate of a copy within the device, read
 * and write, measured in the same run; what a launch takes of the host; and what loading the kernel took. Times by the kernel's
 * own clock.
 *
 * libcuda.so.1 is loaded here; that of tests/doubles does for trying this program without a GPU.
 */
#include "stats_reference.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "device/stats_job.h"

static void *cuda;
static int bad, tests, times; /* of each measurement of a rate */

#define CALL(name, ...)                                               \
	do {                                                          \
		int (*f_)() = (int (*)())dlsym(cuda, #name);          \
		int r_ = f_ ? f_(__VA_ARGS__) : -1;                   \
                                                                      \
		if (r_) {                                             \
			printf("Bail out! %s gives %d\n", #name, r_); \
			exit(1);                                      \
		}                                                     \
	} while (0)

static void *stream, *function;
static uint64_t data, scratch, parts, counters, slot_at;
static struct stats_slot *slot;
static char *host;
static size_t bytes;
static struct stats_launch launch;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static char *read_image(const char *path)
{
	FILE *f = fopen(path, "r");
	static char text[1 << 20];
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	text[n] = 0;
	return n ? text : NULL;
}

static void start_device(void)
{
	char *image = read_image("preload/device/built/stats.ptx");
	void *module, *ctx = NULL;
	int device = 0;
	double from;

	cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!cuda || !image) {
		printf("1..0 # SKIP %s\n", cuda ? "not in the root of the tree" : dlerror());
		exit(0);
	}
	CALL(cuInit, 0u);
	if (dlsym(cuda, "cuDevicePrimaryCtxRetain")) {
		CALL(cuDeviceGet, &device, 0);
		CALL(cuDevicePrimaryCtxRetain, &ctx, device);
		CALL(cuCtxSetCurrent, ctx);
	}
	from = seconds();
	CALL(cuModuleLoadData, &module, image);
	printf("# loading the kernel: %.1f ms\n", 1e3 * (seconds() - from));
	CALL(cuModuleGetFunction, &function, module, "probe_stats");
	CALL(cuStreamCreate, &stream, 1u);
	CALL(cuMemAlloc_v2, &data, bytes);
	CALL(cuMemAlloc_v2, &scratch, bytes);
	CALL(cuMemAlloc_v2, &parts, STATS_PARTS * sizeof(struct stats_part));
	CALL(cuMemAlloc_v2, &counters, STATS_COUNTERS * sizeof(uint32_t));
	CALL(cuMemHostAlloc, (void **)&slot, 2 * sizeof(*slot), 3u);
	CALL(cuMemHostGetDevicePointer_v2, &slot_at, (void *)slot, 0u);
	CALL(cuMemHostAlloc, (void **)&host, bytes, 1u);
	CALL(cuMemsetD8Async, counters, 0u, (size_t)STATS_COUNTERS * sizeof(uint32_t), stream);
	CALL(cuStreamSynchronize, stream);
}

/* Returns the host's seconds. */
static double start_launch(uint32_t blocks)
{
	void *arguments[] = {&launch};
	double from = seconds();

	launch.slot = slot_at;
	launch.parts = parts;
	launch.counters = counters;
	launch.number++;
	CALL(cuLaunchKernel, function, blocks, 1u, 1u, (unsigned)STATS_THREADS, 1u, 1u, 0u, stream,
		arguments, NULL);
	return seconds() - from;
}

static double measure(const struct device_tensor *t)
{
	double took;

	launch.jobs = 1;
	if (!stats_job_make(&launch.job[0], t)) {
		printf("Bail out! no job\n");
		exit(1);
	}
	took = start_launch(launch.job[0].blocks);
	CALL(cuStreamSynchronize, stream);
	if (__atomic_load_n(&slot->done, __ATOMIC_ACQUIRE) != launch.number) {
		printf("Bail out! the kernel has not written its number\n");
		exit(1);
	}
	return took;
}

static void upload(size_t n)
{
	CALL(cuMemcpyAsync, data, (uint64_t)(uintptr_t)host, n, stream);
	CALL(cuStreamSynchronize, stream);
}

static void check(const struct device_tensor *t, const void *elements, const char *what)
{
	struct device_measured m = {t->eps, t->count, (uint8_t)t->dtype, true};
	struct reference r;
	struct stats s;
	uint32_t crc;
	const char *wrong;

	measure(t);
	stats_job_end(&m, &slot->result[0], &s, &crc);
	ref_measure(t->dtype, elements, t->count, t->eps, &r);
	wrong = ref_compare(t->dtype, &s, &r);
	if (wrong) {
		printf("# %s, %llu elements: %s\n", what, (unsigned long long)t->count, wrong);
		bad++;
	}
}

static void report(const char *what)
{
	printf("%sok %d - %s\n", bad ? "not " : "", ++tests, what);
}

/* Types that the processor reads by tables are not the kernel's. */
static int is_measured_type(unsigned dt)
{
	struct device_tensor t = {.address = data, .count = 1, .dtype = dt, .eps = 1e-8};
	struct stats_job job;

	return stats_job_make(&job, &t);
}

static void check_types(void)
{
	static const uint64_t counts[] = {
		1, 2, 3, 15, 16, 17, 255, 256, 257, 4097, 16385, 70001, 300007};
	uint64_t seed = 3;
	unsigned turn = 0;
	int worst = 0;

	for (unsigned dt = DT_BOOL; dt < DT_COUNT; dt++) {
		if (!is_measured_type(dt))
			continue;
		bad = 0;
		for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++)
			for (enum pattern p = 0; p < FILL_PATTERNS; p++, turn++) {
				size_t size = get_dtype_info(get_dtype_info(dt)->component)->size;
				size_t off = turn % (16 / size) * size;
				struct device_tensor t = {.address = data + off,
					.count = counts[c],
					.dtype = dt,
					.eps = 1e-8};

				fill_tensor(dt, host + off, counts[c], p, &seed);
				upload(off + counts[c] * get_dtype_info(dt)->size);
				check(&t, host + off, "one after the other");
			}
		{
			size_t size = get_dtype_info(dt)->size;
			struct device_tensor t = {.address = data,
				.count = 33 * 57,
				.dtype = dt,
				.eps = 1e-8,
				.ndim = 2,
				.size = {33, 57},
				.step = {2 * (int64_t)size, 80 * (int64_t)size}};
			char *row = malloc(33 * 57 * size);

			fill_tensor(dt, host, 57 * 80, FILL_EXTREME, &seed);
			upload(57 * 80 * size);
			for (int y = 0; y < 57; y++)
				for (int x = 0; x < 33; x++)
					memcpy(row + (size_t)(y * 33 + x) * size,
						host + (size_t)(y * 80 + 2 * x) * size, size);
			check(&t, row, "strided");
			free(row);
		}
		worst |= bad;
		report(get_dtype_info(dt)->name);
	}
	bad = worst;
}

static double time_of_best(const struct device_tensor *t, double *launch_us)
{
	double best = 1e9;

	*launch_us = 1e9;
	for (int i = 0; i < times; i++) {
		double took = measure(t), s = 1e-9 * (double)(slot->end - slot->begin);

		best = s > 0 && s < best ? s : best;
		*launch_us = took < *launch_us ? took : *launch_us;
	}
	*launch_us *= 1e6;
	return best;
}

/* Bytes a second that copies within the device read and write, between two looks at the clock. */
static double copy_rate(void)
{
	const int copies = 8;
	double best = 0;

	for (int i = 0; i < 10; i++) {
		uint64_t from, until;

		launch.jobs = 0;
		start_launch(1);
		for (int k = 0; k < copies; k++)
			CALL(cuMemcpyAsync, scratch, data, bytes, stream);
		slot_at += sizeof(*slot);
		start_launch(1);
		slot_at -= sizeof(*slot);
		CALL(cuStreamSynchronize, stream);
		from = slot[0].end;
		until = slot[1].begin;
		if (until > from && 2e9 * copies * (double)bytes / (double)(until - from) > best)
			best = 2e9 * copies * (double)bytes / (double)(until - from);
	}
	return best;
}

static void print_rates(void)
{
	double copy = copy_rate(), us;
	uint64_t seed = 1;

	printf("# %zu MiB; a copy within the device reads and writes %.0f GB/s\n", bytes >> 20,
		copy / 1e9);
	for (unsigned dt = DT_BOOL; dt < DT_COUNT; dt++) {
		struct device_tensor t = {.address = data,
			.count = bytes / get_dtype_info(dt)->size,
			.dtype = dt,
			.eps = 1e-8};
		double s;

		if (!is_measured_type(dt))
			continue;
		fill_tensor(dt, host, t.count, FILL_USUAL, &seed);
		upload(bytes);
		s = time_of_best(&t, &us);
		printf("# %-14s %7.0f GB/s, %3.0f %% of the copy; launch %.1f us of the host\n",
			get_dtype_info(dt)->name, (double)bytes / s / 1e9,
			100 * (double)bytes / s / copy, us);
	}
}

int main(int argc, char **argv)
{
	bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
	times = argc > 2 ? atoi(argv[2]) : 20;
	if (bytes < 8 << 20)
		bytes = 8 << 20;
	start_device();
	check_types();
	if (!bad)
		print_rates();
	printf("1..%d\n", tests);
	return bad != 0;
}
