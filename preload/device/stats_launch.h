/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the host and the statistics kernel (stats.cl): one launch measures up to STATS_JOBS
 * tensors. Compiled as C and as OpenCL C; both use the same layout of these structures, because
 * every member is at a multiple of its size.
 */
#ifndef PROBE_DEVICE_STATS_LAUNCH_H
#define PROBE_DEVICE_STATS_LAUNCH_H

#ifdef __OPENCL_C_VERSION__
typedef uint stats_u32;
typedef ulong stats_u64;
typedef long stats_i64;
#else
#include <stdint.h>
typedef uint32_t stats_u32;
typedef uint64_t stats_u64;
typedef int64_t stats_i64;
#endif

#ifndef STATS_THREADS
#define STATS_THREADS 256 /* per block; the variant for a processor has 1 */
#endif
#define STATS_JOBS 30 /* per launch: the arguments must fit into the 4,096 bytes that CUDA allows */
#define STATS_DIMS \
	5 /* of a job: four of the tensor, and one for the two parts of complex numbers */
#define STATS_PARTS 1024 /* maximum blocks of a launch: each writes its result to scratch memory */
/* bytes for one block, below which starting another block costs more than it saves */
#define STATS_STRETCH 16384
#define STATS_COUNTERS 32 /* per launch: one per job, and STATS_JOBS for the launch */

/* Real data types, as the kernel distinguishes them. */
enum stats_format {
	STATS_U8,
	STATS_I8,
	STATS_U16,
	STATS_I16,
	STATS_U32,
	STATS_I32,
	STATS_U64,
	STATS_I64,
	STATS_E4M3,
	STATS_E5M2,
	STATS_BF16,
	STATS_F16,
	STATS_F32,
	STATS_F64,
	STATS_BOOL,
	STATS_FORMATS
};

/*
 * A tensor. Elements are contiguous if ndim is 0; else size[] and step[] (bytes; innermost
 * dimension first) locate them. The address is a multiple of the element's size.
 */
struct stats_job {
	stats_u64 address;
	stats_u64 count; /* real components: a complex element counts as two */
	stats_u32 format; /* enum stats_format */
	stats_u32 ndim;
	stats_u32 first_block, blocks;
	stats_u64
		/* bits of the threshold below which an element counts as zero: struct stats_eps */
		eps;
	stats_u64 eps_whole;
	stats_u64 size[STATS_DIMS];
	stats_i64 step[STATS_DIMS];
};

/*
 * Results for a tensor, or for the part of a tensor that one block has measured: the sums of
 * struct stats_acc.
 */
struct stats_part {
	stats_u64 zeros, nans, pinfs, ninfs;
	stats_u64 min, max; /* bits of a double, or an integer, depending on the format */
	double sum, sq;
	double sum_big, sq_big, sq_small;
	stats_u32 word_xor, pad;
};

/*
 * Results of a launch, in host memory that the device writes. `done` is written last; then
 * everything else is valid.
 */
struct stats_slot {
	stats_u64 begin, end; /* device's clock; 0: it has no clock */
	stats_u32 pad;
	stats_u32 done; /* number of the launch that is complete */
	struct stats_part result[STATS_JOBS];
};

/* The kernel's only argument. Addresses are those on the device. */
struct stats_launch {
	stats_u64 slot; /* struct stats_slot */
	stats_u64 parts; /* struct stats_part, one per block */
	stats_u64 counters; /* STATS_COUNTERS stats_u32, all 0 before and after a launch */
	stats_u32 number; /* number of the launch, never 0 */
	stats_u32 jobs; /* 0: only the clock is read */
	struct stats_job job[STATS_JOBS];
};

#endif
