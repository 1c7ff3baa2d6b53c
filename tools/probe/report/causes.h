/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of which one is what another one comes from: the cause is put first. */
#ifndef PROBE_TOOLS_CAUSES_H
#define PROBE_TOOLS_CAUSES_H

struct report;

/* Moves the events of findings that follow from another one behind that. Before they are put in order. */
void put_causes_first(struct report *r);

#endif
