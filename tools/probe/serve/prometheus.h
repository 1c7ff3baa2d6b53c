/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the state of a job in Prometheus' text format 0.0.4. */
#ifndef PROBE_TOOLS_PROMETHEUS_H
#define PROBE_TOOLS_PROMETHEUS_H

#include <stdio.h>

#include "tools/probe/live/live.h"

void prometheus_print(const struct live *l, FILE *f);

#endif
