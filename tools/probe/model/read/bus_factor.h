/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth of collectives as nccl-tests define it (its doc/PERFORMANCE.md). */
#ifndef PROBE_TOOLS_BUS_FACTOR_H
#define PROBE_TOOLS_BUS_FACTOR_H

#include "tools/probe/model/read/calls.h"

/* What the algorithm's bandwidth (bytes of the larger buffer by time) is multiplied by to be the bus's; of messages 1. */
double call_bus_factor(const struct call *c);

#endif
