/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a training that raise no error. They show in its parameters, scalars and reductions. */
#ifndef PROBE_TOOLS_RULES_TRAINING_H
#define PROBE_TOOLS_RULES_TRAINING_H

#include "tools/probe/rules/report.h"

void find_diverged_parameters(struct report *r);
void find_unequal_numbers(struct report *r);
void find_odd_losses(struct report *r);
/*
 * Uses calls only. Call it after the functions above, whose findings on the same fault contain
 * more.
 */
void find_odd_reductions(struct report *r);

#endif
