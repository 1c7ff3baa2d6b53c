/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the signs of the gradients of two runs: the share of elements with equal signs. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_GRADIENTS_H
#define PROBE_TOOLS_PROBE_COMPARE_GRADIENTS_H

#include <stdbool.h>

/*
 * Compares two folders with rank<R>/step<N>/<param>.npy (or .pt), files of booleans as msprobe's
 * grad_probe writes them. output: folder for rank<R>/similarities.csv; NULL: no file is written.
 * Returns the exit status.
 */
int compare_gradients(const char *a, const char *b, const char *output);

#endif
