/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast statistics are, as a share of the rate at which the same core merely reads the same memory: passes of both
 * alternate, medians are compared. The kernel is the one that libprobe would choose on this machine.
 *
 *	stats_rate [dram|l2|4m|strided|sizes]    lines NAME SHARE GB/s, of `sizes` NAME BYTES
 */
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "call/view.h"
#include "journal/layout.h"

#define PASSES 5
#define SECONDS \
	2.5 /* of statistics for one figure: slow kernels get less memory, for which they are slow all the same */

static unsigned char *memory;

#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#endif
static uint64_t
read_all(const uint64_t *p, size_t n)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (size_t i = 0; i + 32 <= n; i += 32)
		for (size_t k = 0; k < 8; k++) {
			a ^= p[i + k];
			b ^= p[i + 8 + k];
			c ^= p[i + 16 + k];
			d ^= p[i + 24 + k];
		}
	return a ^ b ^ c ^ d;
}

static uint64_t memory_bytes(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The last-level cache that one core can fill. sysconf() adds up those of a whole machine, which may not even be ours. */
static uint64_t cache_bytes(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/cache/index3/size", "r");
	unsigned long kib = 0;

	if (f) {
		if (fscanf(f, "%lu", &kib) != 1)
			kib = 0;
		fclose(f);
	}
	return kib > (128u << 10) ? 128u << 20 : (uint64_t)kib << 10;
}

/* Four times the last-level cache or 512 MiB, whichever is more, and at most a quarter of the memory. */
static size_t dram_bytes(void)
{
	uint64_t n = 4 * cache_bytes(), most = memory_bytes() / 4;

	n = n > (512u << 20) ? n : 512u << 20;
	return (size_t)(n < most ? n : most) & ~(size_t)4095;
}

/* Valid values of every dtype; no NaN, no Inf, as in a training that works. */
static void fill(enum dtype dt, size_t bytes)
{
	uint32_t x = 12345;

	if (dt == DT_FLOAT64) {
		for (size_t i = 0; i < bytes / 8; i++)
			((double *)memory)[i] =
				(double)((x = x * 1664525u + 1013904223u) >> 8) - 8e6;
		return;
	}
	if (dt == DT_FLOAT32) {
		for (size_t i = 0; i < bytes / 4; i++)
			((float *)memory)[i] =
				(float)((x = x * 1664525u + 1013904223u) >> 8) - 8e6f;
		return;
	}
	for (size_t i = 0; i < bytes / 2; i++) {
		x = x * 1664525u + 1013904223u;
		/* 16-bit floats: an exponent that is never all ones. */
		((uint16_t *)memory)[i] = (uint16_t)(x >> 16 & 0xbbff);
	}
	if (dt == DT_BOOL)
		for (size_t i = 0; i < bytes; i++)
			memory[i] &= 1;
}

static double seconds_of_view(const struct view *v)
{
	struct stats s;
	uint64_t t = now();

	view_measure(v, 1e-8, &s);
	t = now() - t;
	keep(&s);
	return (double)t * 1e-9;
}

static double seconds_of_read(size_t bytes)
{
	uint64_t t = now(), sum = read_all((const uint64_t *)memory, bytes / 8);

	t = now() - t;
	keep(&sum);
	return (double)t * 1e-9;
}

static void compare(const char *where, enum dtype dt, size_t bytes)
{
	struct view v = {.base = memory, .dtype = (uint8_t)dt, .bytes = bytes};
	double stats[PASSES], read[PASSES];
	long repeat;

	fill(dt, bytes);
	v.bytes = bytes < (1u << 20) ? bytes : 1u << 20;
	v.count = v.bytes / dtype_info(dt)->size;
	seconds_of_view(&v);

	double rate = (double)v.bytes / seconds_of_view(&v);

	while (bytes > (32u << 20) && (double)bytes / rate * PASSES > SECONDS)
		bytes /= 2;
	v.bytes = bytes;
	v.count = bytes / dtype_info(dt)->size;
	repeat = (long)((16u << 20) / bytes);
	repeat = repeat < 1 ? 1 : repeat;
	for (int i = 0; i < PASSES; i++) {
		read[i] = stats[i] = 0;
		seconds_of_read(bytes);
		for (long k = 0; k < repeat; k++)
			read[i] += seconds_of_read(bytes);
		for (long k = 0; k < repeat; k++)
			stats[i] += seconds_of_view(&v);
	}

	double r = median(read, PASSES), s = median(stats, PASSES);

	printf("%s_%s %.3f %.2f\n", where, dtype_info(dt)->name, r / s,
		(double)bytes * (double)repeat / s * 1e-9);
	fflush(stdout);
}

/* Rows of 1000 floats, 24 apart, against the same elements one behind the other. */
static void strided(void)
{
	static const int64_t sizes[2] = {4000, 1000}, strides[2] = {1024, 1};
	struct view v = {.base = memory, .dtype = DT_FLOAT32, .bytes = 16000000, .count = 4000000};
	struct view w = v;
	double a[PASSES], b[PASSES];

	w.layout = VIEW_STRIDED;
	w.n = 2;
	w.counts = sizes;
	w.displs = strides;
	fill(DT_FLOAT32, 4000 * 1024 * 4);
	for (int i = 0; i < PASSES; i++) {
		a[i] = seconds_of_view(&v);
		b[i] = seconds_of_view(&w);
	}

	double plain = median(a, PASSES), other = median(b, PASSES);

	printf("strided_float32 %.3f %.2f\n", plain / other, 16e6 / other * 1e-9);
}

int main(int argc, char **argv)
{
	static const enum dtype all[] = {DT_FLOAT32, DT_FLOAT64, DT_BFLOAT16, DT_FLOAT16,
		DT_FLOAT8_E4M3FN, DT_INT8, DT_INT32, DT_INT64, DT_UINT8, DT_BOOL};
	const char *what = argc > 1 ? argv[1] : "";
	size_t bytes = strcmp(what, "dram") == 0 ? dram_bytes() : 32u << 20;

	if (strcmp(what, "sizes") == 0) {
		printf("call %zu\ntensor %zu\n", sizeof(struct journal_call),
			sizeof(struct journal_tensor));
		return 0;
	}
	memory = aligned_alloc(4096, bytes);
	if (!memory)
		return 2;
	if (strcmp(what, "dram") == 0) {
		printf("bytes %zu\n", bytes);
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			compare(what, all[i], bytes);
	} else if (strcmp(what, "l2") == 0) {
		compare(what, DT_FLOAT32, 64u << 10);
	} else if (strcmp(what, "4m") == 0) {
		compare(what, DT_FLOAT32, 4u << 20);
	} else if (strcmp(what, "strided") == 0) {
		strided();
	} else {
		return 2;
	}
	return 0;
}
