/* SPDX-License-Identifier: Apache-2.0 */
#include "text/write.h"

#include <math.h>

#include "text/decimal.h"
#include "text/text.h"

/* Writes 1 to 8 digits. */
static inline char *write_digits_to_8(char *p, uint32_t v)
{
	const uint64_t last = UINT64_C(1) << 56; /* gives 0 one digit */
	unsigned zeros = (unsigned)__builtin_ctzll(compute_digits_8(v) | last) & ~7u;
	uint64_t text = htole64((compute_digits_8(v) | UINT64_C(0x3030303030303030)) >> zeros);

	memcpy(p, &text, 8);
	return p + 8 - zeros / 8;
}

char *write_large_u64(char *p, uint64_t v)
{
	const uint32_t e8 = 100000000;

	if (v < e8)
		return write_digits_to_8(p, (uint32_t)v);

	uint64_t high = v / e8;

	if (high < e8)
		return write_digits_8(write_digits_to_8(p, (uint32_t)high), (uint32_t)(v % e8));
	p = write_digits_to_8(p, (uint32_t)(high / e8));
	return write_digits_8(write_digits_8(p, (uint32_t)(high % e8)), (uint32_t)(v % e8));
}

__attribute__((noinline)) static char *write_rare_double(char *p, double v, int digits)
{
	char buf[64];
	struct text t = text_init(buf, sizeof(buf));

	text_add_double(&t, v, digits);
	return write_bytes(p, buf, t.len);
}

char *write_double(char *p, double v, int digits)
{
	int n = isfinite(v) ? decimal_format(p, v, digits) : 0;

	return __builtin_expect(n, 1) ? p + n : write_rare_double(p, v, digits);
}
