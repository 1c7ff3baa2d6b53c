/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics kernel of preload/device as C: what OpenCL C has and C lacks, then the same file. */
#include "stats_host.h"

#define STATS_HOST
#define STATS_THREADS 1

typedef uint8_t uchar;
typedef uint16_t ushort_of_cl;
typedef uint32_t uint_of_cl;
typedef uint64_t ulong_of_cl;
#define ushort ushort_of_cl
#define uint uint_of_cl
#define ulong ulong_of_cl
typedef uint32_t quad __attribute__((vector_size(16), may_alias));

static __thread uint32_t this_block;

#define global
#define LOCAL
#define ARGUMENT
#define UNROLLED
#define ROLLED
#define LANE() 0u
#define BLOCK() this_block
#define BARRIER() ((void)0)
#define FENCE_DEVICE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define FENCE_SYSTEM() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define ADD_ONE(p) __atomic_fetch_add(p, 1u, __ATOMIC_RELAXED)
#define WRITE_LAST(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define CAST(to, from, v)                          \
	__extension__({                            \
		from in_ = (from)(v);              \
		to out_;                           \
		memcpy(&out_, &in_, sizeof(out_)); \
		out_;                              \
	})
#define FLOAT_OF(bits) CAST(float, uint, bits)
#define DOUBLE_OF(bits) CAST(double, ulong, bits)
#define BITS_OF(x) CAST(ulong, double, x)
#define STATS_KERNEL static void run_block(const struct stats_launch *launch)

static uint64_t read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#include "../../../preload/device/stats.cl"

void stats_run_on_host(const struct stats_launch *arguments, uint32_t blocks)
{
	for (this_block = 0; this_block < blocks; this_block++)
		run_block(arguments);
}
