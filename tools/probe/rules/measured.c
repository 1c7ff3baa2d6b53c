/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/rules/measured.h"

#include <math.h>
#include <string.h>

#include "tools/lib/tool.h"

const struct measurement measurements[] = {
#define MEASURED(kind, right, runs, clean_programs, clean_accused) \
	{kind, right, runs, clean_programs, clean_accused},
#include "tools/probe/rules/measured.def"
	{0},
};

const struct measurement *find_measurement(const struct measurement *list, const char *kind)
{
	for (; list->kind; list++)
		if (strcmp(list->kind, kind) == 0)
			return list;
	return NULL;
}

char *format_measurement(const struct measurement *m)
{
	if (!m)
		return tool_strdup("how often this kind is right has not been measured");
	return tool_format("of injected faults of this kind %u of %u were named rightly; of %u "
			   "clean programs %u %s accused",
		m->right, m->runs, m->clean_programs, m->clean_accused,
		m->clean_accused == 1 ? "was" : "were");
}

double compute_right_share(const struct measurement *m)
{
	return m && m->runs ? (double)m->right / m->runs : (double)NAN;
}
