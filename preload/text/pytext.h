/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and times in the C locale as Python writes them, for files that are used together with
 * those of Python programs.
 */
#ifndef PROBE_BASE_PYTEXT_H
#define PROBE_BASE_PYTEXT_H

#include "text/text.h"

/* Writes %<width>.<decimals>f; width 0: no padding. */
void text_fixed(struct text *t, double v, int width, int decimals);

/* repr() of a float: 0.01, 1e-05, 1024.0, inf, nan. */
void text_add_python_float(struct text *t, double v);

/* str() of a NumPy float32: 251.79117, 1e-05, nan. */
void text_add_python_single(struct text *t, float v);

/* str() of a NumPy array of one float32: [44.313248], [3.], [1.5e-05]. */
void text_add_numpy_single(struct text *t, float v);

/* str() of datetime.timedelta(seconds=v): 0:12:28, 1 day, 5:50:52. */
void text_add_timedelta(struct text *t, uint64_t seconds);

#endif
