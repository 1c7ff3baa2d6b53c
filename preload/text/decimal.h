/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats doubles exactly like printf's %.<digits>g in the C locale and the default rounding
 * mode, in a tenth of the time: each row has up to five doubles.
 */
#ifndef PROBE_BASE_DECIMAL_H
#define PROBE_BASE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#define DECIMAL_DIGITS_MAX 17
/* longer than any text, because text is copied in pieces of fixed length */
#define DECIMAL_TEXT_MAX 48

/*
 * Writes v, which must be finite, with 1 to DECIMAL_DIGITS_MAX significant digits into buf
 * (DECIMAL_TEXT_MAX bytes; no NUL is added). Returns the length. Returns 0 if the last digit
 * cannot be decided in the precision used (about one in 2^40 of random values, and exact ties of
 * large integers): printf must format the number then.
 */
int decimal_format(char *buf, double v, int digits);

/*
 * Returns the nine digits of decimal_format() as a number, 10^8 to 10^9 - 1, and the decimal
 * exponent of the first digit. Returns false if v is 0, not finite or denormal, or the last digit
 * cannot be decided.
 */
bool decimal_find_digits_9(double v, uint32_t *digits, int *exponent);

/* "00" to "99", one after the other. */
extern const char decimal_pairs[201];

#endif
