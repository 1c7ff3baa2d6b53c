/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of arrays in files as doubles: the modulus of complex numbers, against the C library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>

#include "tools/probe/compare/arrays/array_list.h"

static uint64_t seed = 1;

static double random_double(int exponents)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;

	double v = ldexp((double)(seed >> 11), -53) - 0.5;

	return ldexp(v, (int)(seed % (uint64_t)(2 * exponents + 1)) - exponents);
}

static void assert_modulus(double re, double im)
{
	double out, z[2] = {re, im}, want = hypot(re, im);

	read_elements_as_double(&out, z, DT_COMPLEX128, 1);
	if (isnan(want))
		assert_true(isnan(out));
	else if (isinf(want))
		assert_true(isinf(out) && out > 0);
	else
		assert_true(out >= nextafter(want, 0) && out <= nextafter(want, INFINITY));
}

static void the_modulus_is_within_one_digit_of_libm(void **state)
{
	static const double odd[] = {0, -0.0, 1, DBL_MAX, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1e308,
		3e-320, INFINITY, -INFINITY, NAN};

	(void)state;
	for (unsigned i = 0; i < sizeof(odd) / sizeof(*odd); i++)
		for (unsigned k = 0; k < sizeof(odd) / sizeof(*odd); k++)
			assert_modulus(odd[i], odd[k]);
	for (int i = 0; i < 200000; i++) {
		double re = random_double(1000);

		assert_modulus(re, i % 2 ? random_double(1000) : re * (1 + random_double(20)));
	}
}

static void the_modulus_of_single_precision_is_rounded_once(void **state)
{
	(void)state;
	for (int i = 0; i < 200000; i++) {
		float z[2] = {(float)random_double(60), (float)random_double(60)};
		long double all = (long double)z[0] * z[0] + (long double)z[1] * z[1];
		double out;

		read_elements_as_double(&out, z, DT_COMPLEX64, 1);
		assert_true(out == (double)sqrtl(all));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_modulus_is_within_one_digit_of_libm),
		cmocka_unit_test(the_modulus_of_single_precision_is_rounded_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
