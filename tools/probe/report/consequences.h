/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that follow from others. */
#ifndef PROBE_TOOLS_CONSEQUENCES_H
#define PROBE_TOOLS_CONSEQUENCES_H

struct report;

/*
 * Moves each finding that another one explains to the consequences of that one. They are about the same operation, or the one can have
 * reached the other: by the order of a rank's calls, by operations in which the ranks met, or by messages. What has no such cause is first.
 */
void fold_consequences(struct report *r);

#endif
