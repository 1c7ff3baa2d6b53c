/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that follow from others. */
#ifndef PROBE_TOOLS_CONSEQUENCES_H
#define PROBE_TOOLS_CONSEQUENCES_H

struct report;

/*
 * Moves each finding that another finding explains to the consequences of the latter. Both concern the same operation, or the
 * cause can have reached the consequence: through the order of a rank's calls, through operations in which the ranks met, or
 * through messages. A finding without such a cause is a first cause.
 */
void fold_consequences(struct report *r);

#endif
