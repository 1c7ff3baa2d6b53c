/* SPDX-License-Identifier: Apache-2.0 */
/* What two runs began with: what their records say of program, libraries, configuration, first inputs and first weights. */
#ifndef PROBE_TOOLS_PROBE_COMPARE_SETUP_H
#define PROBE_TOOLS_PROBE_COMPARE_SETUP_H

#include <stdbool.h>

/* Output folders of ours. Returns the exit status. */
int compare_setups(const char *a, const char *b, bool json);

#endif
