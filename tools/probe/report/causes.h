/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that follow from another one: the cause comes first. */
#ifndef PROBE_TOOLS_CAUSES_H
#define PROBE_TOOLS_CAUSES_H

struct report;

/* Moves the events of findings that follow from another finding after it. Call it before sorting. */
void put_causes_first(struct report *r);

#endif
