/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics of tensors on a device, in one pass and one launch: what preload/stats computes on the processor. OpenCL C for a
 * device's instructions (clang makes PTX and AMD code objects of it), for PoCL, and, by the macros of stats_host.h, C: tests run
 * what a GPU gets.
 *
 * Two levels. Each thread adds up elements STATS_THREADS * blocks apart, in stretches of at most 1,024; a block folds its threads
 * as a tree and leaves a part; the last block of a tensor folds the parts, always in the same order. Which block takes what hangs on
 * the tensor's bytes alone, so the same tensor has the same digits on every rank and every run.
 *
 * Sums and squares are double. A thread's chain has 1,024 additions in a stretch and 2^38 / 2^18 / 1,024 = 1,024 stretches of
 * the largest tensor that fits a device; folding adds 8 + 10 + 8. So a sum is off by at most 2,074 * 2^-53 = 2.3e-13 of the sum
 * of magnitudes, inside the 1e-12 of stats.h. Squares of float64 that would overflow or underflow are summed apart, scaled as in
 * preload/stats/kernel.h. On chips that have few units for double (consumer GPUs: 1 of 64) the sums are the limit.
 *
 * Integer arithmetic decodes the small types. Denormals are kept; no fast mathematics.
 */
#include "stats_launch.h"

/* ---- differences between the targets ---- */

#if defined(__NVPTX__)
#define LANE() ((uint)__nvvm_read_ptx_sreg_tid_x())
#define BLOCK() ((uint)__nvvm_read_ptx_sreg_ctaid_x())
#define BARRIER() __syncthreads()
#define FENCE_DEVICE() __nvvm_membar_gl()
#define FENCE_SYSTEM() __nvvm_membar_sys()
static inline ulong read_clock(void)
{
	ulong t;

	__asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}
#elif defined(__AMDGCN__)
#define LANE() ((uint)__builtin_amdgcn_workitem_id_x())
#define BLOCK() ((uint)__builtin_amdgcn_workgroup_id_x())
#define BARRIER()                                                \
	(__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"),  \
		__builtin_amdgcn_s_barrier(),                    \
		__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#define FENCE_DEVICE() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent")
#define FENCE_SYSTEM() __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "")
#if defined(__gfx1100__)
#define read_clock() ((ulong)__builtin_amdgcn_s_sendmsg_rtnl(0x83)) /* GET_REALTIME */
#else
#define read_clock() ((ulong)__builtin_amdgcn_s_memrealtime())
#endif
#elif defined(STATS_HOST)
/* stats_host.h */
#else
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define LANE() ((uint)get_local_id(0))
#define BLOCK() ((uint)get_group_id(0))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define FENCE_DEVICE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define FENCE_SYSTEM() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define read_clock() 0ul
#endif

#ifndef STATS_HOST
#define WRITE_LAST(p, v) (*(volatile global uint *)(p) = (v))
#define ADD_ONE(p) __atomic_fetch_add(p, 1u, __ATOMIC_RELAXED)
typedef uint quad __attribute__((ext_vector_type(4)));
#define FLOAT_OF(bits) __builtin_astype((uint)(bits), float)
#define DOUBLE_OF(bits) __builtin_astype((ulong)(bits), double)
#define BITS_OF(x) __builtin_astype((double)(x), ulong)
#define UNROLLED _Pragma("unroll")
#define ROLLED _Pragma("nounroll")
#define LOCAL local
#define STATS_KERNEL                                                         \
	__attribute__((reqd_work_group_size(STATS_THREADS, 1, 1))) kernel void \
	probe_stats(struct stats_launch arguments)
#ifdef __AMDGCN__
/* Used in place: by name each thread would make a copy of the arguments. */
#define ARGUMENT constant
#define launch ((constant struct stats_launch *)__builtin_amdgcn_kernarg_segment_ptr())
#else
#define ARGUMENT
#define launch (&arguments)
#endif
#endif

#define INLINE static inline __attribute__((always_inline))
#define GLOBAL_AT(type, address) ((global type *)(address))

#define INF_BITS 0x7ff0000000000000ul
#define MID_MAX 0x1p480 /* kernel.h */
#define MID_MIN 0x1p-450
#define DOWN 0x1p-600
#define UP 0x1p600

#define STRETCH 64 /* loads of 16 bytes between two folds of a thread's sums: 1,024 elements of one byte */

/* ---- a thread's results ---- */

struct floats { /* up to 32 bits */
	float min, max;
	double sum, sq;
	uint zeros, nans, pinfs, ninfs;
};

struct doubles {
	double min, max;
	double sum, sq, sum_big, sq_big, sq_small;
	uint zeros, nans, pinfs, ninfs;
};

struct integers { /* up to 32 bits */
	long min, max, sum;
	double sq;
	ulong part_sq; /* of the current stretch, for types of up to 16 bits */
	uint zeros;
};

struct wides { /* 64 bits, as unsigned numbers in their order */
	ulong min, max;
	double sum, sq;
	uint zeros;
};

/*
 * Parameters that distinguish the types of one family. There are few families, because the driver compiles this at
 * program start: with a copy of the code for each type it would take seconds.
 */
struct limits {
	double eps;
	ulong whole;
	float scale; /* for small floats: the difference of the biases */
	uint shift; /* ... where their digits begin in a float */
	uint inf; /* the magnitude of Inf; without one the first that is NaN */
	uint has_inf;
	ulong flip; /* the sign bit of signed integers */
	uint most; /* 1: bool */
};

/* The i-th element of up to 32 bits, in its low bits. */
#define MASK_OF(size) ((size) == 4 ? 0xffffffffu : (1u << 8 * ((size) % 4)) - 1)
#define ELEMENT(v, i, size) ((v)[(i) * (size) / 4] >> (i) * (size) % 4 * 8 & MASK_OF(size))

/* ---- floats up to 32 bits ---- */

INLINE void add_finite(struct floats *s, float x, uint magnitude, const struct limits *l)
{
	double d = (double)x;

	s->min = x < s->min ? x : s->min;
	s->max = x > s->max ? x : s->max;
	s->zeros += magnitude < (uint)l->whole;
	s->sum += d;
	s->sq += d * d;
}

INLINE void add_any(
	struct floats *s, float x, uint negative, uint magnitude, const struct limits *l)
{
	if (magnitude < l->inf) {
		add_finite(s, x, magnitude, l);
		return;
	}
	if (magnitude > l->inf || !l->has_inf) {
		s->nans++;
		return;
	}
	s->zeros += magnitude < (uint)l->whole;
	if (negative) {
		s->ninfs++;
		s->min = FLOAT_OF(0xff800000u);
	} else {
		s->pinfs++;
		s->max = FLOAT_OF(0x7f800000u);
	}
}

/* A float has all digits of the smaller types, denormal ones included. */
#define FLOAT_FAMILY(name, bits_type, size, sign, decode)                                      \
	INLINE void add_##name(struct floats *s, bits_type b, const struct limits *l)          \
	{                                                                                      \
		uint magnitude = b & ~(uint)(sign);                                            \
                                                                                               \
		add_any(s, decode, b & (sign), magnitude, l);                                  \
	}                                                                                      \
	/* False, with nothing done, if there is an element that is not finite. */             \
	INLINE int add_quad_##name(struct floats *s, quad v, const struct limits *l)           \
	{                                                                                      \
		uint most = 0;                                                                 \
                                                                                               \
		UNROLLED for (int i = 0; i < 16 / (size); i++)                                 \
		{                                                                              \
			uint m = ELEMENT(v, i, size) & ~(uint)(sign);                          \
                                                                                               \
			most = m > most ? m : most;                                            \
		}                                                                              \
		if (most >= l->inf)                                                            \
			return 0;                                                              \
		UNROLLED for (int i = 0; i < 16 / (size); i++)                                 \
		{                                                                              \
			uint b = ELEMENT(v, i, size), magnitude = b & ~(uint)(sign);           \
                                                                                               \
			add_finite(s, decode, magnitude, l);                                   \
		}                                                                              \
		return 1;                                                                      \
	}

FLOAT_FAMILY(f32, uint, 4, 0x80000000u, FLOAT_OF(b))
FLOAT_FAMILY(f16, ushort, 2, 0x8000u,
	FLOAT_OF(((uint)b & 0x8000u) << 16 | magnitude << l->shift) * l->scale)
FLOAT_FAMILY(
	f8, uchar, 1, 0x80u, FLOAT_OF(((uint)b & 0x80u) << 24 | magnitude << l->shift) * l->scale)

INLINE void begin_floats(struct floats *s)
{
	s->min = FLOAT_OF(0x7f800000u);
	s->max = FLOAT_OF(0xff800000u);
	s->sum = s->sq = 0;
	s->zeros = s->nans = s->pinfs = s->ninfs = 0;
}

/* The stretch is at its end: its sums go to the part. */
INLINE void fold_floats(struct stats_part *p, struct floats *s)
{
	p->sum += s->sum;
	p->sq += s->sq;
	s->sum = s->sq = 0;
}

INLINE void end_floats(struct stats_part *p, struct floats *s, const struct limits *l)
{
	fold_floats(p, s);
	p->min = BITS_OF(s->min);
	p->max = BITS_OF(s->max);
	p->zeros = s->zeros;
	p->nans = s->nans;
	p->pinfs = s->pinfs;
	p->ninfs = s->ninfs;
	(void)l;
}

/* ---- float64 ---- */

INLINE ulong pair_at(quad v, int i)
{
	return (ulong)v[2 * i + 1] << 32 | v[2 * i];
}

INLINE void add_mid(struct doubles *s, double x, double magnitude, const struct limits *l)
{
	s->min = x < s->min ? x : s->min;
	s->max = x > s->max ? x : s->max;
	s->zeros += magnitude < l->eps;
	s->sum += x;
	s->sq += x * x;
}

INLINE void add_f64(struct doubles *s, ulong b, const struct limits *l)
{
	double x = DOUBLE_OF(b), m = DOUBLE_OF(b & ~(1ul << 63));

	if ((b & ~(1ul << 63)) > INF_BITS) {
		s->nans++;
		return;
	}
	if (m <= MID_MAX && (m >= MID_MIN || m == 0)) {
		add_mid(s, x, m, l);
		return;
	}
	s->min = x < s->min ? x : s->min;
	s->max = x > s->max ? x : s->max;
	s->zeros += m < l->eps;
	if (m > 0x1.fffffffffffffp1023) {
		s->pinfs += x > 0;
		s->ninfs += x < 0;
	} else if (m > MID_MAX) {
		s->sum_big += x * DOWN;
		s->sq_big += (x * DOWN) * (x * DOWN);
	} else {
		s->sum += x;
		s->sq_small += (x * UP) * (x * UP);
	}
}

INLINE int is_mid(ulong b)
{
	double m = DOUBLE_OF(b & ~(1ul << 63));

	return m <= MID_MAX && (m >= MID_MIN || m == 0);
}

INLINE int add_quad_f64(struct doubles *s, quad v, const struct limits *l)
{
	ulong a = pair_at(v, 0), b = pair_at(v, 1);

	if (!is_mid(a) || !is_mid(b))
		return 0;
	add_mid(s, DOUBLE_OF(a), DOUBLE_OF(a & ~(1ul << 63)), l);
	add_mid(s, DOUBLE_OF(b), DOUBLE_OF(b & ~(1ul << 63)), l);
	return 1;
}

INLINE void begin_doubles(struct doubles *s)
{
	s->min = DOUBLE_OF(INF_BITS);
	s->max = DOUBLE_OF(INF_BITS | 1ul << 63);
	s->sum = s->sq = s->sum_big = s->sq_big = s->sq_small = 0;
	s->zeros = s->nans = s->pinfs = s->ninfs = 0;
}

INLINE void fold_doubles(struct stats_part *p, struct doubles *s)
{
	p->sum += s->sum;
	p->sq += s->sq;
	p->sum_big += s->sum_big;
	p->sq_big += s->sq_big;
	p->sq_small += s->sq_small;
	s->sum = s->sq = s->sum_big = s->sq_big = s->sq_small = 0;
}

INLINE void end_doubles(struct stats_part *p, struct doubles *s, const struct limits *l)
{
	fold_doubles(p, s);
	(void)l;
	p->min = BITS_OF(s->min);
	p->max = BITS_OF(s->max);
	p->zeros = s->zeros;
	p->nans = s->nans;
	p->pinfs = s->pinfs;
	p->ninfs = s->ninfs;
}

/* ---- integers ---- */

INLINE void add_short(struct integers *s, int x, const struct limits *l)
{
	uint m = (uint)(x < 0 ? -x : x);

	s->min = x < s->min ? x : s->min;
	s->max = x > s->max ? x : s->max;
	s->sum += x;
	s->part_sq += m * m;
	s->zeros += m <= l->whole;
}

INLINE void add_long(struct integers *s, long x, const struct limits *l)
{
	double d = (double)x;

	s->min = x < s->min ? x : s->min;
	s->max = x > s->max ? x : s->max;
	s->sum += x;
	s->sq += d * d;
	s->zeros += (ulong)(x < 0 ? -x : x) <= l->whole;
}

/* (b ^ flip) - flip extends the sign where there is one. */
#define INTEGER_FAMILY(name, bits_type, size, add, value)                               \
	INLINE void add_##name(struct integers *s, bits_type b, const struct limits *l) \
	{                                                                               \
		add(s, value, l);                                                       \
	}                                                                               \
	INLINE int add_quad_##name(struct integers *s, quad v, const struct limits *l)  \
	{                                                                               \
		UNROLLED for (int i = 0; i < 16 / (size); i++)                          \
		{                                                                       \
			add_##name(s, (bits_type)ELEMENT(v, i, size), l);               \
		}                                                                       \
		return 1;                                                               \
	}

INTEGER_FAMILY(i8, uchar, 1, add_short,
	(int)((b > l->most ? l->most : b) ^ (uint)l->flip) - (int)l->flip)
INTEGER_FAMILY(i16, ushort, 2, add_short, (int)(b ^ (uint)l->flip) - (int)l->flip)
INTEGER_FAMILY(i32, uint, 4, add_long, (long)(b ^ l->flip) - (long)l->flip)

INLINE void begin_integers(struct integers *s)
{
	s->min = 0x7fffffffffffffffl;
	s->max = -0x7fffffffffffffffl - 1;
	s->sum = 0;
	s->sq = 0;
	s->part_sq = 0;
	s->zeros = 0;
}

INLINE void fold_integers(struct stats_part *p, struct integers *s)
{
	p->sum += (double)s->sum;
	p->sq += s->sq + (double)s->part_sq;
	s->sum = 0;
	s->sq = 0;
	s->part_sq = 0;
}

INLINE void end_integers(struct stats_part *p, struct integers *s, const struct limits *l)
{
	fold_integers(p, s);
	p->min = (ulong)s->min;
	p->max = (ulong)s->max;
	p->zeros = s->zeros;
	(void)l;
}

/* 64 bits: with the sign bit flipped signed ones order as unsigned. */
INLINE void add_i64(struct wides *s, ulong b, const struct limits *l)
{
	ulong negative = b & l->flip, m = negative ? -b : b, order = b ^ l->flip;
	double d = (double)m;

	s->min = order < s->min ? order : s->min;
	s->max = order > s->max ? order : s->max;
	s->sum += negative ? -d : d;
	s->sq += d * d;
	s->zeros += m <= l->whole;
}

INLINE int add_quad_i64(struct wides *s, quad v, const struct limits *l)
{
	add_i64(s, pair_at(v, 0), l);
	add_i64(s, pair_at(v, 1), l);
	return 1;
}

INLINE void begin_wides(struct wides *s)
{
	s->min = ~0ul;
	s->max = 0;
	s->sum = s->sq = 0;
	s->zeros = 0;
}

INLINE void fold_wides(struct stats_part *p, struct wides *s)
{
	p->sum += s->sum;
	p->sq += s->sq;
	s->sum = s->sq = 0;
}

INLINE void end_wides(struct stats_part *p, struct wides *s, const struct limits *l)
{
	fold_wides(p, s);
	p->min = s->min ^ l->flip;
	p->max = s->max ^ l->flip;
	p->zeros = s->zeros;
}

/* ---- a thread's share of a tensor ---- */

INLINE uint rotate_bytes(uint x, uint bytes)
{
	return bytes % 4 ? x << bytes % 4 * 8 | x >> (32 - bytes % 4 * 8) : x;
}

/* An element's part of the XOR of 32-bit words: where its bytes come in their order. */
#define XOR_OF(b, size, index)                                  \
	((size) == 8 ? (uint)(b) ^ (uint)((ulong)(b) >> 32 % (8 * (size))) \
		     : rotate_bytes((uint)(b), (uint)(index) * (size)))

/* Bytes from the first element to the i-th, in the order of the dimensions. */
INLINE long offset_of(const ARGUMENT struct stats_job *job, ulong index)
{
	long at = 0;

	for (uint d = 0; d + 1 < job->ndim; d++) {
		ulong size = job->size[d], next;

		/* Division of 64 bits takes a hundred instructions. */
		if ((index | size) >> 32)
			next = index / size;
		else
			next = (uint)index / (uint)size;
		at += (long)(index - next * size) * job->step[d];
		index = next;
	}
	return at + (long)index * job->step[job->ndim - 1];
}

/*
 * Lane `lane` of `lanes`. Elements before the first multiple of 16 bytes and after the last one are taken singly, and so are
 * those of a quad with extreme values, from memory: registers cannot be indexed. Four loads are in progress at any time.
 */
#define SHARE_OF(name, state, family, bits_type, size)                                            \
	INLINE void share_##name(const ARGUMENT struct stats_job *job, ulong lane, ulong lanes,    \
		const struct limits *l, struct stats_part *p)                                     \
	{                                                                                         \
		global const bits_type *e = GLOBAL_AT(const bits_type, job->address);             \
		ulong count = job->count, first = 0, quads = 0, singles = count, k;               \
		uint x = 0, rounds = 0;                                                           \
		struct state s;                                                                   \
                                                                                                  \
		begin_##family(&s);                                                               \
		if (!job->ndim) {                                                                 \
			first = ((0 - job->address) & 15) / (size);                                \
			first = first < count ? first : count;                                    \
			quads = (count - first) / (16 / (size));                                  \
			singles -= quads * (16 / (size));                                         \
		}                                                                                 \
		if (lane < quads) {                                                               \
			global const quad *v = GLOBAL_AT(const quad, job->address + first * (size)); \
			quad none = {0, 0, 0, 0}, now, a = v[lane], b = none, c = none, d = none; \
                                                                                                  \
			if (lane + lanes < quads)                                                 \
				b = v[lane + lanes];                                              \
			if (lane + 2 * lanes < quads)                                             \
				c = v[lane + 2 * lanes];                                          \
			if (lane + 3 * lanes < quads)                                             \
				d = v[lane + 3 * lanes];                                          \
			ROLLED for (k = lane; k < quads; k += lanes)                              \
			{                                                                         \
				now = a;                                                          \
				a = b;                                                            \
				b = c;                                                            \
				c = d;                                                            \
				if (k + 4 * lanes < quads)                                        \
					d = v[k + 4 * lanes];                                     \
				x ^= now[0] ^ now[1] ^ now[2] ^ now[3];                           \
				if (!add_quad_##name(&s, now, l)) {                               \
					ROLLED for (uint i = 0; i < 16 / (size); i++)             \
					{                                                         \
						add_##name(&s,                                    \
							GLOBAL_AT(const bits_type, &v[k])[i], l); \
					}                                                         \
				}                                                                 \
				if (++rounds % STRETCH == 0)                                      \
					fold_##family(p, &s);                                     \
			}                                                                         \
			x = rotate_bytes(x, (uint)first * (size));                                \
		}                                                                                 \
		ROLLED for (k = lane; k < singles; k += lanes)                                    \
		{                                                                                 \
			ulong i = k < first || !quads ? k : k + quads * (16 / (size));            \
			bits_type b = job->ndim                                                   \
					      ? *GLOBAL_AT(const bits_type,                       \
							job->address + (ulong)offset_of(job, i))  \
					      : e[i];                                             \
                                                                                                  \
			add_##name(&s, b, l);                                                     \
			x ^= XOR_OF(b, size, i);                                                  \
			if (++rounds % STRETCH == 0)                                              \
				fold_##family(p, &s);                                             \
		}                                                                                 \
		end_##family(p, &s, l);                                                           \
		p->word_xor = x;                                                                  \
	}

SHARE_OF(i8, integers, integers, uchar, 1)
SHARE_OF(i16, integers, integers, ushort, 2)
SHARE_OF(i32, integers, integers, uint, 4)
SHARE_OF(i64, wides, wides, ulong, 8)
SHARE_OF(f8, floats, floats, uchar, 1)
SHARE_OF(f16, floats, floats, ushort, 2)
SHARE_OF(f32, floats, floats, uint, 4)
SHARE_OF(f64, doubles, doubles, ulong, 8)

INLINE void measure_share(
	const ARGUMENT struct stats_job *job, ulong lane, ulong lanes, struct stats_part *p)
{
	uint f = job->format;
	struct limits l;

	l.eps = DOUBLE_OF(job->eps);
	l.whole = job->eps_whole;
	l.scale = f == STATS_E4M3 ? 0x1p120f : f == STATS_BF16 ? 1.0f : 0x1p112f;
	l.shift = f == STATS_E4M3 ? 20 : f == STATS_E5M2 ? 21 : f == STATS_F16 ? 13 : 16;
	l.inf = f == STATS_E4M3   ? 0x7f
		: f == STATS_E5M2 ? 0x7c
		: f == STATS_F16  ? 0x7c00
		: f == STATS_BF16 ? 0x7f80
				  : 0x7f800000;
	l.has_inf = f != STATS_E4M3;
	l.flip = f == STATS_I8    ? 0x80
		 : f == STATS_I16 ? 0x8000
		 : f == STATS_I32 ? 0x80000000ul
		 : f == STATS_I64 ? 1ul << 63
				  : 0;
	l.most = f == STATS_BOOL ? 1 : 0xff;
	switch (f) {
	case STATS_BOOL:
	case STATS_U8:
	case STATS_I8:
		share_i8(job, lane, lanes, &l, p);
		break;
	case STATS_U16:
	case STATS_I16:
		share_i16(job, lane, lanes, &l, p);
		break;
	case STATS_U32:
	case STATS_I32:
		share_i32(job, lane, lanes, &l, p);
		break;
	case STATS_U64:
	case STATS_I64:
		share_i64(job, lane, lanes, &l, p);
		break;
	case STATS_E4M3:
	case STATS_E5M2:
		share_f8(job, lane, lanes, &l, p);
		break;
	case STATS_BF16:
	case STATS_F16:
		share_f16(job, lane, lanes, &l, p);
		break;
	case STATS_F32:
		share_f32(job, lane, lanes, &l, p);
		break;
	default:
		share_f64(job, lane, lanes, &l, p);
	}
}

/* ---- parts ---- */

INLINE void clear_part(struct stats_part *p)
{
	p->zeros = p->nans = p->pinfs = p->ninfs = 0;
	p->min = p->max = 0;
	p->sum = p->sq = p->sum_big = p->sq_big = p->sq_small = 0;
	p->word_xor = p->pad = 0;
}

/* Numbers that order as the format's values do. */
INLINE ulong order_of(ulong v, uint format)
{
	ulong top = 1ul << 63;

	if (format == STATS_U64)
		return v;
	if (format >= STATS_E4M3 && format <= STATS_F64)
		return v & top ? ~v : v | top;
	return v ^ top;
}

/* A part of which nothing was seen has the extremes that its thread began with. */
#define MERGE_PART(p, q, format)                                                    \
	do {                                                                        \
		(p)->zeros += (q)->zeros;                                           \
		(p)->nans += (q)->nans;                                             \
		(p)->pinfs += (q)->pinfs;                                           \
		(p)->ninfs += (q)->ninfs;                                           \
		if (order_of((q)->min, format) < order_of((p)->min, format))        \
			(p)->min = (q)->min;                                        \
		if (order_of((q)->max, format) > order_of((p)->max, format))        \
			(p)->max = (q)->max;                                        \
		(p)->sum += (q)->sum;                                               \
		(p)->sq += (q)->sq;                                                 \
		(p)->sum_big += (q)->sum_big;                                       \
		(p)->sq_big += (q)->sq_big;                                         \
		(p)->sq_small += (q)->sq_small;                                     \
		(p)->word_xor ^= (q)->word_xor;                                     \
	} while (0)

#define COPY_PART(to, from)                             \
	do {                                            \
		(to)->zeros = (from)->zeros;            \
		(to)->nans = (from)->nans;              \
		(to)->pinfs = (from)->pinfs;            \
		(to)->ninfs = (from)->ninfs;            \
		(to)->min = (from)->min;                \
		(to)->max = (from)->max;                \
		(to)->sum = (from)->sum;                \
		(to)->sq = (from)->sq;                  \
		(to)->sum_big = (from)->sum_big;        \
		(to)->sq_big = (from)->sq_big;          \
		(to)->sq_small = (from)->sq_small;      \
		(to)->word_xor = (from)->word_xor;      \
		(to)->pad = 0;                          \
	} while (0)

/* ---- the kernel ---- */

/* The block's parts become one, lane 0's. */
INLINE void fold_block(LOCAL struct stats_part *tree, struct stats_part *mine, uint lane, uint format)
{
	for (uint width = STATS_THREADS / 2; width; width /= 2) {
		if (lane >= width && lane < 2 * width)
			COPY_PART(&tree[lane - width], mine);
		BARRIER();
		if (lane < width)
			MERGE_PART(mine, &tree[lane], format);
		BARRIER();
	}
}

/* The parts of a tensor's blocks, a lane's share of them. */
INLINE void gather_parts(struct stats_part *mine, const global struct stats_part *parts, uint lane,
	uint blocks, uint format)
{
	uint k = lane < blocks ? lane : blocks - 1;

	COPY_PART(mine, &parts[k]);
	if (lane >= blocks) { /* there is none: its extremes do no harm */
		mine->zeros = mine->nans = mine->pinfs = mine->ninfs = 0;
		mine->sum = mine->sq = mine->sum_big = mine->sq_big = mine->sq_small = 0;
		mine->word_xor = 0;
	}
	for (k = lane + STATS_THREADS; k < blocks; k += STATS_THREADS)
		MERGE_PART(mine, &parts[k], format);
}

INLINE void write_done(volatile global struct stats_slot *slot, uint number)
{
	slot->end = read_clock();
	FENCE_SYSTEM();
	WRITE_LAST(&slot->done, number);
}

STATS_KERNEL
{
	LOCAL struct stats_part tree[(STATS_THREADS + 1) / 2];
	LOCAL uint is_last[1];
	volatile global struct stats_slot *slot = GLOBAL_AT(volatile struct stats_slot, launch->slot);
	global struct stats_part *parts = GLOBAL_AT(struct stats_part, launch->parts);
	volatile global uint *counters = GLOBAL_AT(volatile uint, launch->counters);
	uint lane = LANE(), block = BLOCK(), j = 0, format, blocks, last = 1;
	const ARGUMENT struct stats_job *job;
	struct stats_part mine;

	if (!lane && !block)
		slot->begin = read_clock();
	if (!launch->jobs) {
		if (!lane)
			write_done(slot, launch->number);
		return;
	}
	while (j + 1 < launch->jobs && block >= launch->job[j + 1].first_block)
		j++;
	job = &launch->job[j];
	format = job->format;
	blocks = job->blocks;
	clear_part(&mine);
	measure_share(job, (ulong)(block - job->first_block) * STATS_THREADS + lane,
		(ulong)blocks * STATS_THREADS, &mine);
	fold_block(tree, &mine, lane, format);
	if (blocks > 1) {
		if (!lane) {
			COPY_PART(&parts[block], &mine);
			FENCE_DEVICE();
			is_last[0] = ADD_ONE(&counters[j]) == blocks - 1;
			FENCE_DEVICE();
		}
		BARRIER();
		last = is_last[0];
		if (last) {
			gather_parts(&mine, &parts[job->first_block], lane, blocks, format);
			fold_block(tree, &mine, lane, format);
		}
	}
	if (!lane && last) {
		COPY_PART(&slot->result[j], &mine);
		counters[j] = 0;
		FENCE_SYSTEM();
		if (ADD_ONE(&counters[STATS_JOBS]) == launch->jobs - 1) {
			counters[STATS_JOBS] = 0;
			write_done(slot, launch->number);
		}
	}
}
