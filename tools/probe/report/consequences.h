/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that follow from other findings. */
#ifndef PROBE_TOOLS_CONSEQUENCES_H
#define PROBE_TOOLS_CONSEQUENCES_H

struct report;

/*
 * Makes each finding that another finding explains a consequence of it. Both are about the same
 * operation, or an effect of the cause can have reached the consequence: by the order of a rank's
 * calls, through an operation in which ranks met, or through messages.
 */
void join_consequences(struct report *r);

#endif
