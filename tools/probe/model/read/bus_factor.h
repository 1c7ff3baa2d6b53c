/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth of collectives as nccl-tests define it (its doc/PERFORMANCE.md). */
#ifndef PROBE_TOOLS_BUS_FACTOR_H
#define PROBE_TOOLS_BUS_FACTOR_H

#include "tools/probe/model/read/calls.h"

/*
 * Returns the factor from algorithm bandwidth (bytes of the larger buffer per time) to bus
 * bandwidth; 1 for messages.
 */
double call_get_bus_factor(const struct call *c);

#endif
