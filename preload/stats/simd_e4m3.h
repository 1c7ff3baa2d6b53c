/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of float8_e4m3fn in integers (x86); part of simd.h. 2^10 x is an integer below 2^19, so that the sums of a block
 * and those of its squares are exact, and so they are in lanes of double: the same bits, in half of the time.
 *
 * With the bits s e3 e2 e1 e0 m, X = 2^10 x is t * 4^(e3 e2 e1), where t = (8 + m) * 2^e0, or 2 m of a denormal number;
 * and it is u * 16^(e3 e2), where u = t * 4^e1. u is 120 at most: its squares are products of bytes.
 *
 * Beside what simd.h lists, an including file defines
 *   v_table(t, x)          bytes of the table of 16 by the lower half of each of x; 0 where its top bit is set
 *   v_table_of(p)          a table
 *   v_upper(x)             the upper half of each byte
 *   v_pick(x, bits, y, z)  bytes of y where one of the bits is set in x, of z elsewhere
 *   dot_8(acc, x, y)       adds products of unsigned x and signed y to lanes of 32 bits; sums of 2 are below 2^15
 */
#ifndef PROBE_STATS_SIMD_E4M3_H
#define PROBE_STATS_SIMD_E4M3_H

struct e4m3 {
	vec sum[2]; /* of t * 4^n, with the sign: for exponents up to 7, and above */
	vec sq[4]; /* of u^2: for all, those with e2, with e3, with both */
};

INLINE void add_e4m3(struct e4m3 *a, vec x)
{
	static const int8_t digits[16] = {
		8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30};
	static const int8_t digits4[16] = {
		32, 36, 40, 44, 48, 52, 56, 60, 64, 72, 80, 88, 96, 104, 112, 120};
	static const int8_t low[16] = {1, 4, 16, 64, 0, 0, 0, 0, -1, -4, -16, -64, 0, 0, 0, 0};
	static const int8_t high[16] = {0, 0, 0, 0, 1, 4, 16, 64, 0, 0, 0, 0, -1, -4, -16, -64};
	vec mag = v_and(x, v_set_8(INT8_MAX)), scale = v_upper(x), none = v_set_64(0), t, u, y;

	t = v_pick(x, 0x78, v_table(v_table_of(digits), mag), v_add_8(x, x));
	a->sum[0] = dot_8(a->sum[0], t, v_table(v_table_of(low), scale));
	a->sum[1] = dot_8(a->sum[1], t, v_table(v_table_of(high), scale));
	u = v_pick(x, 0x10, v_table(v_table_of(digits4), mag), t);
	y = v_pick(x, 0x40, u, none);
	a->sq[0] = dot_8(a->sq[0], u, u);
	a->sq[1] = dot_8(a->sq[1], u, v_pick(x, 0x20, u, none));
	a->sq[2] = dot_8(a->sq[2], u, y);
	a->sq[3] = dot_8(a->sq[3], u, v_pick(x, 0x20, y, none));
}

INLINE d8 first_lane(double x)
{
	double lanes[8] = {x};

	return widen_f64((const unsigned char *)lanes);
}

/* Like walk(). The totals are in the first lane. */
INLINE size_t walk_e4m3fn(const unsigned char *p, size_t n, const unsigned char *ahead, size_t size,
	widen *load8, look *bound, look *zero, vec limit, struct sums *l, struct bounds *b)
{
	struct e4m3 a;
	struct tail t;
	int64_t q[4], sum;
	size_t at = 0;

	(void)size;
	(void)load8;
	memset(&a, 0, sizeof(a));
	for (; at + 64 <= n; at += 64) {
		fetch(ahead + at, 64);
		UNROLL for (int k = 0; k < 64; k += V) add_e4m3(&a, v_load(p + at + k));
		look_at(b, p + at, p + at, 64, bound, zero, limit);
	}
	if (at < n) {
		tail_load(&t, p + at, n - at);
		UNROLL for (int k = 0; k < 64; k += V) add_e4m3(&a, v_load(t.bytes + k));
		look_at(b, p + n - 64, t.bytes, 64, bound, zero, limit);
		at += 64;
	}
	for (int i = 0; i < 4; i++)
		q[i] = sum_of_32(a.sq[i]);
	sum = (int64_t)(int32_t)sum_of_32(a.sum[0]) + (int64_t)(int32_t)sum_of_32(a.sum[1]) * 256;
	l->s[0] = first_lane((double)sum * 0x1p-10);
	l->q[0] = first_lane((double)((q[0] - q[1] - q[2] + q[3]) + ((q[1] - q[3]) << 8) +
				      ((q[2] - q[3]) << 16) + (q[3] << 24)) *
			     0x1p-20);
	return at;
}

#endif
