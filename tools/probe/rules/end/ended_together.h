/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that were ended from outside: no rank failed first. */
#ifndef PROBE_TOOLS_PROBE_RULES_ENDED_TOGETHER_H
#define PROBE_TOOLS_PROBE_RULES_ENDED_TOGETHER_H

#include "tools/probe/rules/report.h"

/* Adds a finding if signals ended all ranks of one of several hosts, and the other ranks outlived them. False: not so. */
bool find_ended_host(struct report *r);

/*
 * True if signals ended all ranks in the middle of their work. Call it only if no first one was found: then nothing shows that
 * one was first.
 */
bool is_ended_together(struct report *r);

#endif
