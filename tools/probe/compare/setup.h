/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the setup of two runs from their records: program, libraries, configuration, first
 * inputs and first weights.
 */
#ifndef PROBE_TOOLS_PROBE_COMPARE_SETUP_H
#define PROBE_TOOLS_PROBE_COMPARE_SETUP_H

#include <stdbool.h>

/* a, b: output folders of libprobe. json: print JSON. Returns the exit status. */
int compare_setups(const char *a, const char *b, bool json);

#endif
