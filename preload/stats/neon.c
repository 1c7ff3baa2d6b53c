/* SPDX-License-Identifier: Apache-2.0 */
/* NEON: registers of 16 bytes. Every 64-bit Arm CPU has it. */
#if defined(__aarch64__)

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>

#include "stats/unroll.h"

#define V 16
#define W 2
#define STAGED 0 /* registers are widened one half at a time */
#define SPLIT 0
#define FMA_SUMS 0
#define NO_COUNT vdupq_n_u64(0)

typedef uint64x2_t vec, count;
typedef float64x2_t vd;
typedef struct {
	vd r[4];
} d8;

INLINE vec v_load(const void *p)
{
	return vreinterpretq_u64_u8(vld1q_u8(p));
}

INLINE vec v_xor(vec x, vec y)
{
	return veorq_u64(x, y);
}

INLINE vec v_and(vec x, vec y)
{
	return vandq_u64(x, y);
}

INLINE vec v_high(vec x)
{
	return vshrq_n_u64(x, 32);
}

/* Reinterprets as lanes of b bits, and back. */
#define S(b, x) vreinterpretq_s##b##_u64(x)
#define U(b, x) vreinterpretq_u##b##_u64(x)
#define OF(b, x) vreinterpretq_u64_##b(x)
#define vreinterpretq_u64_u64(x) (x)

#define LANES(b)                                                                    \
	INLINE vec v_set_##b(int##b##_t x)                                          \
	{                                                                           \
		return OF(s##b, vdupq_n_s##b(x));                                   \
	}                                                                           \
	INLINE vec v_add_##b(vec x, vec y)                                          \
	{                                                                           \
		return OF(s##b, vaddq_s##b(S(b, x), S(b, y)));                      \
	}                                                                           \
	INLINE count v_count_##b(count c, vec x, vec y)                             \
	{                                                                           \
		return OF(u##b, vsubq_u##b(U(b, c), vcgtq_s##b(S(b, x), S(b, y)))); \
	}                                                                           \
	INLINE count v_zeros_##b(count c, vec x)                                    \
	{                                                                           \
		return OF(u##b, vsubq_u##b(U(b, c), vceqzq_u##b(U(b, x))));         \
	}

LANES(8)
LANES(16)
LANES(32)
LANES(64)

#define BINARY(name, t, b, op)                                              \
	INLINE vec name##_##b(vec x, vec y)                                 \
	{                                                                   \
		return OF(t##b, op##q_##t##b(vreinterpretq_##t##b##_u64(x), \
					vreinterpretq_##t##b##_u64(y)));    \
	}
#define ACROSS(name, t, b, op)                                       \
	INLINE t##b##_lane name##_##b(vec x)                         \
	{                                                            \
		return op##vq_##t##b(vreinterpretq_##t##b##_u64(x)); \
	}
#define ORDER(b)                              \
	typedef int##b##_t s##b##_lane;       \
	typedef uint##b##_t u##b##_lane;      \
	BINARY(v_min, s, b, vmin)             \
	BINARY(v_max, s, b, vmax)             \
	BINARY(v_umin, u, b, vmin)            \
	BINARY(v_umax, u, b, vmax)            \
	ACROSS(v_least, s, b, vmin)           \
	ACROSS(v_most, s, b, vmax)            \
	ACROSS(v_uleast, u, b, vmin)          \
	ACROSS(v_umost, u, b, vmax)           \
	INLINE uint64_t v_total_##b(count c)  \
	{                                     \
		return vaddlvq_u##b(U(b, c)); \
	}

ORDER(8)
ORDER(16)
ORDER(32)

INLINE vec v_min_64(vec x, vec y)
{
	return vbslq_u64(vcgtq_s64(S(64, x), S(64, y)), y, x);
}

INLINE vec v_max_64(vec x, vec y)
{
	return vbslq_u64(vcgtq_s64(S(64, x), S(64, y)), x, y);
}

INLINE int64_t v_least_64(vec x)
{
	int64_t a = vgetq_lane_s64(S(64, x), 0), b = vgetq_lane_s64(S(64, x), 1);

	return a < b ? a : b;
}

INLINE int64_t v_most_64(vec x)
{
	int64_t a = vgetq_lane_s64(S(64, x), 0), b = vgetq_lane_s64(S(64, x), 1);

	return a > b ? a : b;
}

INLINE uint64_t v_sum_64(vec x)
{
	return vaddvq_u64(x);
}

INLINE uint64_t v_total_64(count c)
{
	return vaddvq_u64(c);
}

/* ---- doubles ---- */

INLINE vd vd_set(double x)
{
	return vdupq_n_f64(x);
}

INLINE vd vd_add(vd x, vd y)
{
	return vaddq_f64(x, y);
}

INLINE vd vd_mul(vd x, vd y)
{
	return vmulq_f64(x, y);
}

INLINE vd vd_fma(vd x, vd y, vd z)
{
	return vfmaq_f64(z, x, y);
}

/* FMINNM is not used: for a signalling NaN and a number it returns NaN. */
INLINE vd vd_min(vd x, vd y)
{
	return vbslq_f64(vcltq_f64(x, y), x, y);
}

INLINE vd vd_max(vd x, vd y)
{
	return vbslq_f64(vcgtq_f64(x, y), x, y);
}

INLINE vd vd_abs(vd x)
{
	return vabsq_f64(x);
}

INLINE void vd_store(double *p, vd x)
{
	vst1q_f64(p, x);
}

INLINE count vd_count(count c, vd x, vd y)
{
	return vsubq_u64(c, vcltq_f64(x, y));
}

INLINE vd vd_keep(vd x, vd y, vd z)
{
	return vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(x), vcleq_f64(y, z)));
}

INLINE d8 of_floats(float32x4_t low, float32x4_t high)
{
	return (d8){{vcvt_f64_f32(vget_low_f32(low)), vcvt_high_f64_f32(low),
		vcvt_f64_f32(vget_low_f32(high)), vcvt_high_f64_f32(high)}};
}

INLINE d8 of_halves(uint16x8_t x)
{
	float16x8_t h = vreinterpretq_f16_u16(x);

	return of_floats(vcvt_f32_f16(vget_low_f16(h)), vcvt_high_f32_f16(h));
}

INLINE d8 widen_f64(const unsigned char *p)
{
	const double *x = (const double *)p;

	return (d8){{vld1q_f64(x), vld1q_f64(x + 2), vld1q_f64(x + 4), vld1q_f64(x + 6)}};
}

INLINE d8 widen_f32(const unsigned char *p)
{
	return of_floats(vld1q_f32((const float *)p), vld1q_f32((const float *)p + 4));
}

INLINE d8 widen_bf16(const unsigned char *p)
{
	uint16x8_t x = vld1q_u16((const uint16_t *)p);

	return of_floats(vreinterpretq_f32_u32(vshll_n_u16(vget_low_u16(x), 16)),
		vreinterpretq_f32_u32(vshll_high_n_u16(x, 16)));
}

INLINE d8 widen_f16(const unsigned char *p)
{
	return of_halves(vld1q_u16((const uint16_t *)p));
}

INLINE d8 widen_e5m2(const unsigned char *p)
{
	return of_halves(vshll_n_u8(vld1_u8(p), 8));
}

/* As eight_e4m3fn() of x86.h. */
INLINE d8 widen_e4m3fn(const unsigned char *p)
{
	uint16x8_t x = vshll_n_u8(vld1_u8(p), 8), mag = vandq_u16(x, vdupq_n_u16(0x7f00));
	uint16x8_t sign = vandq_u16(x, vdupq_n_u16(0x8000));
	uint16x8_t half = vorrq_u16(sign, vshrq_n_u16(mag, 1));
	d8 d = of_halves(vorrq_u16(half, vceqq_u16(mag, vdupq_n_u16(0x7f00))));

	for (int i = 0; i < 4; i++)
		d.r[i] = vmulq_f64(d.r[i], vdupq_n_f64(256));
	return d;
}

INLINE d8 widen_i32(const unsigned char *p)
{
	int32x4_t low = vld1q_s32((const int32_t *)p), high = vld1q_s32((const int32_t *)p + 4);

	return (d8){{vcvtq_f64_s64(vmovl_s32(vget_low_s32(low))),
		vcvtq_f64_s64(vmovl_high_s32(low)), vcvtq_f64_s64(vmovl_s32(vget_low_s32(high))),
		vcvtq_f64_s64(vmovl_high_s32(high))}};
}

INLINE d8 widen_u32(const unsigned char *p)
{
	uint32x4_t low = vld1q_u32((const uint32_t *)p), high = vld1q_u32((const uint32_t *)p + 4);

	return (d8){{vcvtq_f64_u64(vmovl_u32(vget_low_u32(low))),
		vcvtq_f64_u64(vmovl_high_u32(low)), vcvtq_f64_u64(vmovl_u32(vget_low_u32(high))),
		vcvtq_f64_u64(vmovl_high_u32(high))}};
}

INLINE d8 widen_i64(const unsigned char *p)
{
	d8 d;

	for (int i = 0; i < 4; i++)
		d.r[i] = vcvtq_f64_s64(S(64, v_load(p + 16 * i)));
	return d;
}

INLINE d8 widen_u64(const unsigned char *p)
{
	d8 d;

	for (int i = 0; i < 4; i++)
		d.r[i] = vcvtq_f64_u64(v_load(p + 16 * i));
	return d;
}

/* ---- sums of narrow integers ---- */

INLINE vec sum_8(vec acc, vec z)
{
	return OF(u32, vpadalq_u16(U(32, acc), vpaddlq_u8(U(8, z))));
}

INLINE vec sq_8(vec acc, vec z)
{
	uint8x16_t x = U(8, z);
	uint16x8_t low = vmull_u8(vget_low_u8(x), vget_low_u8(x));

	return OF(u32, vpadalq_u16(vpadalq_u16(U(32, acc), low), vmull_high_u8(x, x)));
}

INLINE int64_t total_sum_8(vec acc)
{
	return vaddlvq_s32(S(32, acc));
}

INLINE int64_t total_sq_8(vec acc, int64_t sum)
{
	(void)sum;
	return vaddlvq_s32(S(32, acc));
}

INLINE vec sum_16(vec acc, vec y)
{
	return OF(s32, vpadalq_s16(S(32, acc), S(16, y)));
}

INLINE int64_t total_sum_16(vec acc)
{
	return vaddlvq_s32(S(32, acc));
}

struct squares {
	vec all;
};

#define NO_SQUARES             \
	{                      \
		vdupq_n_u64(0) \
	}

INLINE void sq_16(struct squares *acc, vec y)
{
	int16x8_t x = S(16, y);
	int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(x)), high = vmull_high_s16(x, x);

	acc->all = OF(s64, vpadalq_s32(vpadalq_s32(S(64, acc->all), low), high));
}

INLINE int64_t total_sq_16(const struct squares *acc)
{
	return vaddvq_s64(S(64, acc->all));
}

#include "stats/simd.h"

const struct stats_kernels stats_neon = SIMD_KERNELS("neon");

#else
typedef int stats_neon_is_for_aarch64; /* a translation unit must not be empty */
#endif
