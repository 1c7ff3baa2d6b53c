/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast tensors are measured, beside how fast the same core merely reads the same memory.
 *
 *   stats_bench [-i ISA] [-t DTYPE] [-s BYTES] [-r ROUNDS]     ISA: auto (what libprobe would choose), all, or one;
 *                                                              BYTES: also `dram`, the largest size
 *   stats_bench -j                                             sizes in the journal: `call` and `tensor` bytes
 *
 * Columns: isa dtype bytes rate_GBps share. rate: bytes of tensor per second, median of the rounds; share: the median
 * of its ratio to the read rate, which is taken again before each measurement since other loads on the machine come and
 * go. Rows of isa `read` are that rate. dtypes with a suffix are float32 in other layouts:
 *   :rows    rows of 4 KiB with as much between them; only the rows are read for comparison
 *   :pairs   every other element; read for comparison is all
 *   :segs    v-form, segments of 4 KiB and some elements, not aligned
 *   :nan     one element in 1000 is NaN
 * Sizes: 64 KiB, 4 MiB, and main memory: 4 times the last-level cache, 512 MiB at least, a quarter of RAM at most.
 *
 * What bounds it. A Zen 4 (3.7 GHz) starts four vector operations of 32 bytes a cycle, conversions to double and
 * additions only two of these, as products, comparisons and table look-ups. Operations for 64 bytes of tensor in AVX-512 as
 * these kernels do it, counted by hand, one of 64 bytes counted as two:
 *              bounds, zeros   as float32   to double   add   square, add   in all   cycles: at least   measured in L1
 *   float32    8               -            4           4     4             20       5.0                5.1
 *   bfloat16   8               4            8           8     8             36       9.0                9.7
 *   float16    8               4            8           8     8             36       9.0                9.8
 * and some 60 cycles more a block of 4032 elements, which is half a cycle for 64 bytes of bfloat16.
 *
 * The share of main memory's rate (64 bytes in 7.7 cycles there) follows: bfloat16 and float16 cannot reach more than 0.75
 * in this way. Parts of it, measured in loops of their own: to double, add, square and add 8.5 cycles in the 16 lanes, 6.5
 * in 32; in 32 with making float32 of them 7.9 to 8.9, and with bounds and zeros 10.1: no less than in 16, for then the
 * pipes are what is waited for. Nor can float32 reach the rate of the caches (64 bytes in 2.3 cycles from L3, 2 from L2):
 * converting, adding and squaring alone take 3.3.
 *
 * A Zen 3 (3 GHz, AVX2), float32, cycles for 64 bytes, the least of 60 turns of each loop (load 10):
 *                                                               16 KiB   64 KiB   4 MiB
 *   reading                                                     1.2      2.1      3.8
 *   to double, add, square and add, nothing else                4.2      4.1      4.2
 *   the same and bounds                                         5.0      4.9      5.0
 *   the same and zeros: counted                                 6.3      6.2      6.3
 *     or the least magnitude, counted again if it is a zero     5.8      5.7      5.8
 *   this kernel                                                 6.4      6.3      6.5
 * So the sums alone reach 0.51 of reading at 64 KiB, and this kernel 0.33; 0.7 would take sums that are not of doubles. At 4 MiB
 * it reaches 0.59 of reading, and 0.66 with zeros by the least magnitude. That saves a tenth where a block has no zeros; where it
 * has, as after a ReLU, it is read once more.
 *
 * What else did not help bfloat16 and float16: zeros by the least magnitude of a block instead of counting; going over them
 * in two loops; float32 made by shift and mask instead of unpacking; other ways and distances of fetching ahead. Not tried:
 * integers, where each element needs one of many shifts for its exponent, which comes to 38 operations; sums in float32,
 * which would save a tenth and are exact only where exponents of elements added up differ by less than about 12.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "journal/layout.h"
#include "stats/kernel.h"
#include "tests/unit/measure_helper.h"

#define ROUNDS_MAX 99

static const char *const isa_names[STATS_ISAS] = {"auto", "scalar", "avx2", "avx512", "neon"};

/* CPU time of this thread: what other processes take of the core does not count. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- merely reading ---- */

typedef void reader(const unsigned char *p, size_t n);

/* The loads are asm so that the compiler keeps them although nothing is done with what they bring. */
static inline void touch(const unsigned char *p)
{
#if defined(__x86_64__)
	__asm__ volatile("movdqu (%0), %%xmm0\n\tmovdqu 16(%0), %%xmm1\n\t"
			 "movdqu 32(%0), %%xmm2\n\tmovdqu 48(%0), %%xmm3"
			 :
			 : "r"(p)
			 : "xmm0", "xmm1", "xmm2", "xmm3");
#elif defined(__aarch64__)
	__asm__ volatile("ldp q0, q1, [%0]\n\tldp q2, q3, [%0, 32]"
			 :
			 : "r"(p)
			 : "v0", "v1", "v2", "v3");
#endif
}

static void read_16(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i + 64 <= n; i += 64)
		touch(p + i);
}

static void read_16_far(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i + 64 <= n; i += 64) {
		__builtin_prefetch(p + i + 4096);
		touch(p + i);
	}
}

#if defined(__x86_64__)
/* The 32 and 64 byte registers need no flags of this file: the instructions are written out. */
#define TOUCH_WIDE(mov, reg, k) mov " " #k "(%0), %%" reg "\n\t"

static void read_32(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i + 128 <= n; i += 128)
		__asm__ volatile(TOUCH_WIDE("vmovdqu", "ymm0", 0) TOUCH_WIDE("vmovdqu", "ymm1",
			32) TOUCH_WIDE("vmovdqu", "ymm2", 64) TOUCH_WIDE("vmovdqu", "ymm3", 96)
				 :
				 : "r"(p + i)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
	__asm__ volatile("vzeroupper");
}

static void read_64(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i + 256 <= n; i += 256)
		__asm__ volatile(TOUCH_WIDE("vmovdqu64", "zmm0", 0) TOUCH_WIDE(
			"vmovdqu64", "zmm1", 64) TOUCH_WIDE("vmovdqu64", "zmm2", 128)
					 TOUCH_WIDE("vmovdqu64", "zmm3", 192)
				 :
				 : "r"(p + i)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
	__asm__ volatile("vzeroupper");
}

static void read_64_far(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i + 256 <= n; i += 256) {
		for (size_t k = 0; k < 256; k += 64)
			__builtin_prefetch(p + i + k + 4096);
		__asm__ volatile(TOUCH_WIDE("vmovdqu64", "zmm0", 0) TOUCH_WIDE(
			"vmovdqu64", "zmm1", 64) TOUCH_WIDE("vmovdqu64", "zmm2", 128)
					 TOUCH_WIDE("vmovdqu64", "zmm3", 192)
				 :
				 : "r"(p + i)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
	}
	__asm__ volatile("vzeroupper");
}
#endif

static unsigned readers(reader **list)
{
	unsigned n = 0;

	list[n++] = read_16;
	list[n++] = read_16_far;
#if defined(__x86_64__)
	if (stats_get_variant(STATS_AVX2))
		list[n++] = read_32;
	if (stats_get_variant(STATS_AVX512)) {
		list[n++] = read_64;
		list[n++] = read_64_far;
	}
#endif
	return n;
}

/* ---- what is measured ---- */

enum layout { CONTIG, ROWS, PAIRS, SEGS, NANS, LAYOUTS };
static const char *const suffix[LAYOUTS] = {"", ":rows", ":pairs", ":segs", ":nan"};

struct job {
	const unsigned char *p;
	size_t span; /* bytes from the first to after the last element */
	size_t bytes; /* of elements */
	size_t row, pitch; /* reads `row` bytes every `pitch` bytes */
	struct buffer v;
	reader *read; /* instead of measuring */
	size_t lead; /* then: prefetches all lines of the row that is this many bytes further on */
};

static void run(const struct job *j)
{
	struct stats_fenv env;
	struct stats s;

	if (j->read) {
		for (size_t at = 0; at + j->row <= j->span; at += j->pitch) {
			for (size_t i = 0; j->lead && i < j->row; i += 64)
				__builtin_prefetch(j->p + at + j->lead + i);
			j->read(j->p + at, j->row);
		}
		return;
	}
	stats_fenv_set(&env);
	buffer_measure(&j->v, 1e-8, &s);
	stats_fenv_reset(&env);
}

/* Seconds of one run; short ones are repeated. */
static double time_of(const struct job *j, unsigned repeat)
{
	double start = now();

	for (unsigned i = 0; i < repeat; i++)
		run(j);
	return (now() - start) / repeat;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, unsigned n)
{
	qsort(x, n, sizeof(*x), ascending);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

static unsigned rounds = 7;

static unsigned repeats(size_t bytes)
{
	size_t n = (16u << 20) / bytes;

	return n ? (unsigned)n : 1;
}

/* Finds the fastest way to read the rows of *j: sets j->read, j->lead. Returns bytes per second. */
static double best_reader(struct job *j)
{
	reader *list[8];
	unsigned n = readers(list), ways = j->row < j->pitch ? 2 * n : n;
	double t[16][ROUNDS_MAX], rate = 0;

	for (unsigned r = 0; r < rounds; r++) {
		for (unsigned i = 0; i < ways; i++) {
			struct job k = *j;

			k.read = list[i % n];
			k.lead = i < n ? 0 : 3 * j->pitch;
			t[i][r] = time_of(&k, repeats(j->bytes));
		}
	}
	for (unsigned i = 0; i < ways; i++) {
		double got = (double)j->bytes / median(t[i], rounds);

		if (got <= rate)
			continue;
		rate = got;
		j->read = list[i % n];
		j->lead = i < n ? 0 : 3 * j->pitch;
	}
	return rate;
}

/* plain: reading instead of j. */
static void compare(const char *isa, const char *name, const struct job *j, const struct job *plain)
{
	double rate[ROUNDS_MAX], share[ROUNDS_MAX];
	unsigned repeat = repeats(j->bytes);

	time_of(j, 1);
	for (unsigned r = 0; r < rounds; r++) {
		double t = time_of(plain, repeat), u = time_of(j, repeat);

		rate[r] = (double)j->bytes / u;
		share[r] = t / u;
	}
	printf("%-7s %-14s %11zu %9.2f %6.2f\n", isa, name, j->bytes, median(rate, rounds) * 1e-9,
		median(share, rounds));
	fflush(stdout);
}

/* Ordinary elements: floats within [-2, 2], any integers. A megabyte of them, again and again. */
static void fill(unsigned char *p, size_t bytes, unsigned dt)
{
	/* types of less than a byte have no component of their own */
	unsigned comp =
		get_dtype_info(dt)->component == DT_OTHER ? dt : get_dtype_info(dt)->component;
	unsigned size = get_dtype_info(comp)->size;
	size_t unit = bytes < 1 << 20 ? bytes : 1 << 20;
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i + size <= unit; i += size) {
		uint64_t r;
		float f;
		double d;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		r = state;
		f = (float)(int32_t)r * 0x1p-30f;
		d = (double)(int64_t)r * 0x1p-62;
		if (comp == DT_FLOAT64)
			memcpy(&r, &d, 8);
		else if (comp == DT_FLOAT32 || comp == DT_BFLOAT16)
			memcpy(&r, &f, 4);
		if (comp == DT_BFLOAT16)
			r = (uint32_t)r >> 16;
		else if (comp == DT_FLOAT16)
			r = (r & 0x83ff) | (8 + (r >> 32) % 8) << 10;
		else if (comp == DT_FLOAT8_E5M2)
			r = (r & 0x83) | (8 + (r >> 32) % 8) << 2;
		else if (comp == DT_FLOAT8_E4M3FN)
			r = (r & 0x87) | (1 + (r >> 32) % 7) << 3;
		memcpy(p + i, &r, size);
	}
	for (size_t i = unit; i < bytes; i += unit)
		memcpy(p + i, p, bytes - i < unit ? bytes - i : unit);
}

static void whole(struct job *j, unsigned char *p, size_t bytes, unsigned dt)
{
	unsigned size = get_dtype_info(dt)->size;

	*j = (struct job){.p = p,
		.span = bytes,
		.bytes = bytes,
		.row = bytes,
		.pitch = bytes,
		.v = {.base = p,
			.count = bytes / size,
			.bytes = bytes,
			.dtype = (uint8_t)dt,
			.layout = BUFFER_CONTIG}};
}

/* Layouts of float32. Counts and displacements are kept until the next call. */
static int lay_out_buffers(struct job *j, unsigned char *p, size_t bytes, enum layout layout)
{
	static int64_t size[2], stride[2];
	static int64_t *count, *displ;
	size_t n = 0;

	whole(j, p, bytes, DT_FLOAT32);
	j->v.width = 8;
	switch (layout) {
	case ROWS:
		size[0] = (int64_t)(bytes / 8192);
		size[1] = stride[0] = 1024;
		stride[0] = 2048;
		stride[1] = 1;
		j->row = 4096;
		j->pitch = 8192;
		n = 2;
		break;
	case PAIRS:
		size[0] = (int64_t)(bytes / 8);
		stride[0] = 2;
		n = 1;
		break;
	case SEGS:
		count = realloc(count, (bytes / 4096 + 1) * sizeof(*count));
		displ = realloc(displ, (bytes / 4096 + 1) * sizeof(*displ));
		if (!count || !displ)
			return 0;
		j->v.count = 0;
		for (size_t at = 0; at + 4096 + 64 < bytes; n++) {
			count[n] = 1024 + (int64_t)(n % 16);
			displ[n] = (int64_t)at;
			at += (size_t)count[n] * 4 + 4;
			j->v.count += (uint64_t)count[n];
		}
		j->v.layout = BUFFER_SEGMENTS;
		j->v.unit = 1;
		j->v.counts = count;
		j->v.displs = displ;
		break;
	case NANS:
		for (size_t i = 0; i + 4 <= bytes; i += 4000)
			memcpy(p + i, &(float){__builtin_nanf("")}, 4);
		return 1;
	default:
		return 1;
	}
	if (layout != SEGS) {
		j->v.layout = BUFFER_STRIDED;
		j->v.counts = size;
		j->v.displs = stride;
		j->v.count = bytes / 8;
	}
	j->v.n = (uint32_t)n;
	j->bytes = j->v.count * 4;
	return 1;
}

/* sysconf() knows nothing of the last-level cache of many virtual machines. */
static size_t last_level_cache(void)
{
	long size = 0;

	for (int i = 0; i < 5; i++) {
		char path[80];
		long kib;
		FILE *f;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		f = fopen(path, "r");
		if (f && fscanf(f, "%ldK", &kib) == 1 && kib > size)
			size = kib;
		if (f)
			fclose(f);
	}
	return (size_t)size << 10;
}

static size_t main_memory(void)
{
	size_t ram = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4;
	size_t want = 4 * last_level_cache();

	want = want > (size_t)512 << 20 ? want : (size_t)512 << 20;
	want = want < ram ? want : ram;
	return want & ~(size_t)0xfffff;
}

int main(int argc, char **argv)
{
	const char *isa = "auto", *dtype = NULL;
	size_t sizes[] = {64 << 10, 4 << 20, main_memory()}, only = 0, most = sizes[2];
	unsigned char *p;
	int c;

	while ((c = getopt(argc, argv, "i:t:s:r:j")) != -1) {
		if (c == 'i')
			isa = optarg;
		else if (c == 't')
			dtype = optarg;
		else if (c == 's')
			only = strcmp(optarg, "dram") == 0 ? sizes[2] : strtoull(optarg, NULL, 0);
		else if (c == 'r')
			rounds = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'j')
			return printf("call %zu\ntensor %zu\n", sizeof(struct journal_call),
				       sizeof(struct journal_tensor)) < 0;
		else
			return 2;
	}
	rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
	most = only ? only : most;
	p = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		perror("stats_bench: mmap");
		return 2;
	}
	madvise(p, most, MADV_HUGEPAGE);
	printf("isa     dtype                bytes rate_GBps  share\n");
	for (unsigned s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
		size_t bytes = only ? only : sizes[s];
		struct job all;
		double rate;

		memset(p, 1, bytes);
		whole(&all, p, bytes, DT_UINT8);
		rate = best_reader(&all);
		printf("%-7s %-14s %11zu %9.2f %6.2f\n", "read", "-", bytes, rate * 1e-9, 1.0);
		for (unsigned dt = 1; dt < DT_COUNT; dt++) {
			unsigned layouts = dt == DT_FLOAT32 ? LAYOUTS : 1;

			if (dtype &&
				strncmp(dtype, get_dtype_info(dt)->name, strcspn(dtype, ":")) != 0)
				continue;
			fill(p, bytes, dt);
			for (unsigned l = 0; l < layouts; l++) {
				char name[40];
				struct job j, plain;

				snprintf(name, sizeof(name), "%s%s", get_dtype_info(dt)->name,
					suffix[l]);
				if (dtype && strcmp(dtype, name) != 0)
					continue;
				if (l)
					lay_out_buffers(&j, p, bytes, l);
				else
					whole(&j, p, bytes, dt);
				plain = j;
				plain.read = all.read;
				if (j.row < j.pitch)
					best_reader(&plain);
				for (unsigned i = STATS_AUTO; i < STATS_ISAS; i++) {
					if (strcmp(isa, "all") == 0
							? i == STATS_AUTO
							: strcmp(isa, isa_names[i]) != 0)
						continue;
					if (stats_select(i))
						continue;
					compare(stats_selected(), name, &j, &plain);
				}
			}
		}
		if (only)
			break;
	}
	return 0;
}
