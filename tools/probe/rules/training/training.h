/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a training that raise no error: found in its parameters, numbers and reductions. */
#ifndef PROBE_TOOLS_RULES_TRAINING_H
#define PROBE_TOOLS_RULES_TRAINING_H

#include "tools/probe/rules/report.h"

void find_parted_parameters(struct report *r);
void find_unequal_numbers(struct report *r);
void find_odd_losses(struct report *r);
/* Judged by calls alone; after the two above, which say more about the same fault. */
void find_odd_reductions(struct report *r);

#endif
