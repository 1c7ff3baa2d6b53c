/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What helper threads (key stats_threads) gain: stats_helpers HELPERS BYTES... Wall-clock time of measuring a float32
 * tensor with none and with HELPERS, in turn; and of merely reading it, cut and shared in the same way, which is what
 * the memory allows. Prints a line a size: BYTES, GB/s without, GB/s with, their ratio, and that of merely reading.
 * Ratios are medians of 31 pairs. The cores should have nothing else to do.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "stats/kernel.h"
#include "stats/threads.h"

enum { ROUNDS = 31 };

/* In place of a kernel. The loads are asm so that the compiler keeps them. */
static void merely_read(const void *p, size_t n, const void *ahead, const struct stats_eps *eps,
	struct stats_block *b)
{
	const char *at = p, *next = ahead;

	(void)eps;
	memset(b, 0, sizeof(*b));
	for (size_t i = 0; i + 64 <= n * sizeof(float); i += 64) {
		__builtin_prefetch(next + i);
#if defined(__x86_64__)
		__asm__ volatile("movdqu (%0), %%xmm0\n\tmovdqu 16(%0), %%xmm1\n\t"
				 "movdqu 32(%0), %%xmm2\n\tmovdqu 48(%0), %%xmm3"
				 :
				 : "r"(at + i)
				 : "xmm0", "xmm1", "xmm2", "xmm3");
#elif defined(__aarch64__)
		__asm__ volatile("ldp q0, q1, [%0]\n\tldp q2, q3, [%0, 32]"
				 :
				 : "r"(at + i)
				 : "v0", "v1", "v2", "v3");
#endif
	}
}

/* Nanoseconds. */
static double time_of(const float *p, size_t bytes, bool measure)
{
	unsigned repeat = bytes < (16u << 20) ? (unsigned)((16u << 20) / bytes) : 1;
	uint64_t start = now();

	for (unsigned i = 0; i < repeat; i++) {
		struct stats_acc a;
		struct stats s;

		stats_begin(&a, DT_FLOAT32, 1e-8);
		if (!measure)
			a.kernel = merely_read;
		stats_add(&a, p, bytes / sizeof(float));
		stats_end(&a, &s);
		keep(&s);
	}
	return (double)(now() - start) / repeat;
}

int main(int argc, char **argv)
{
	unsigned helpers = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 1;
	int started = stats_threads_start(helpers, 0, NULL);
	stats_share_fn *share = atomic_load(&stats_share);

	if (started < (int)helpers) {
		fprintf(stderr, "stats_helpers: %d helpers started\n", started);
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		size_t bytes = strtoull(argv[i], NULL, 0);
		double alone[ROUNDS], with[ROUNDS], gain[ROUNDS], read[ROUNDS];
		float *p = mmap(
			NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED) {
			perror("stats_helpers: mmap");
			return 2;
		}
		madvise(p, bytes, MADV_HUGEPAGE);
		for (size_t k = 0; k < bytes / sizeof(float); k++)
			p[k] = (float)(k % 1021) * 0x1p-9f - 1;
		for (unsigned r = 0; r < ROUNDS; r++) {
			atomic_store(&stats_share, NULL);
			alone[r] = time_of(p, bytes, true);
			read[r] = time_of(p, bytes, false);
			atomic_store(&stats_share, share);
			with[r] = time_of(p, bytes, true);
			read[r] /= time_of(p, bytes, false);
			gain[r] = alone[r] / with[r];
		}
		printf("%zu %.2f %.2f %.2f %.2f\n", bytes, (double)bytes / median(alone, ROUNDS),
			(double)bytes / median(with, ROUNDS), median(gain, ROUNDS),
			median(read, ROUNDS));
		fflush(stdout);
		munmap(p, bytes);
	}
	return 0;
}
