/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in which the settings excluded calls. */
#ifndef PROBE_TOOLS_LEFT_OUT_H
#define PROBE_TOOLS_LEFT_OUT_H

#include "tools/probe/rules/report.h"

/* Reports that no call was recorded, with the keys that chose so, what the run had, and the remedy. */
void find_run_without_calls(struct report *r);

/* Reports the keys only and skip of a run that has calls: the functions that they excluded are not among them. */
void find_left_out(struct report *r);

#endif
