/* SPDX-License-Identifier: Apache-2.0 */
/* Signs of gradients of two runs: the share of elements whose sign is the same. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_GRADIENTS_H
#define PROBE_TOOLS_PROBE_COMPARE_GRADIENTS_H

#include <stdbool.h>

/*
 * Folders rank<R>/step<N>/<param>.npy (or .pt) of booleans, as msprobe's grad_probe writes them. out: folder for
 * rank<R>/similarities.csv; NULL: none is written. Returns the exit status.
 */
int compare_gradients(const char *a, const char *b, const char *out);

#endif
