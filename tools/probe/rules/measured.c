/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/measured.h"

#include <math.h>
#include <string.h>

#include "tools/lib/tool.h"

const struct measurement measurements[] = {
#define MEASURED(kind, severity, set, right, wrong, runs, programs, clean_runs, clean_programs, \
	clean_accused)                                                                          \
	{kind, severity, set, right, wrong, runs, programs, clean_runs, clean_programs,         \
		clean_accused},
#include "tools/probe/rules/measured.def"
	{0},
};

const struct measurement *find_measurement(
	const struct measurement *list, const char *kind, const char *severity)
{
	const struct measurement *found = NULL;

	for (; list->kind; list++)
		if (strcmp(list->kind, kind) == 0 && strcmp(list->severity, severity) == 0 &&
			(!found || list->set == HELD_OUT))
			found = list;
	return found;
}

const char *name_measured_set(enum measured_set set)
{
	return set == HELD_OUT ? "held_out" : "calibration";
}

char *format_measurement(const struct measurement *m)
{
	const char *with;

	if (!m)
		return tool_strdup("how often this kind is right has not been measured");
	with = m->set == HELD_OUT ? "that the rules were only checked with"
				  : "that the rules were made with";
	return tool_format(
		"of %u injected faults of this kind %u were named correctly (in %u %s %s; wrongly "
		"reported for %u other faults); of %u clean programs %u %s accused",
		m->runs, m->right, m->programs, m->programs == 1 ? "program" : "programs", with,
		m->wrong, m->clean_programs, m->clean_accused,
		m->clean_accused == 1 ? "was" : "were");
}

double compute_right_share(const struct measurement *m)
{
	return m && m->runs ? (double)m->right / m->runs : (double)NAN;
}
