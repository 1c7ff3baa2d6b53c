/* SPDX-License-Identifier: Apache-2.0 */
/* The event that ended a step: values in the journal and names in meta.json. */
#ifndef PROBE_JOURNAL_STEP_NAME_H
#define PROBE_JOURNAL_STEP_NAME_H

#include <stdint.h>

/* In ascending order of precedence. */
enum step_source {
	STEP_NONE,
	STEP_OPTIMIZER,
	STEP_MARKER, /* a function named in the configuration */
	STEP_PCONTROL, /* MPI_Pcontrol(2) and similar calls */
	STEP_API, /* probe_step() */
	STEP_SOURCES
};

const char *get_step_source_name(uint32_t s); /* for meta.json */

#endif
