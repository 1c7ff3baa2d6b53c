/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats doubles exactly like printf's %.<digits>g in the C locale and the default rounding
 * mode, in a tenth of the time: each row has up to five doubles.
 */
#ifndef PROBE_BASE_DECIMAL_H
#define PROBE_BASE_DECIMAL_H

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

/* "00" to "99", one after the other. */
extern const char decimal_pairs[201];

#endif
