/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/range_option.h"

#include <string.h>

#include "config/config_value.h"
#include "tools/lib/tool.h"

bool parse_ranges_option(const char *verb, struct ranges *r, const char *name, const char *text)
{
	const char *problem = ranges_add(r, text, strlen(text));

	ranges_merge(r);
	if (!problem && r->n)
		return true;
	tool_error("%s: --%s %s: %s; accepted: 3, 0-7 or 0,4-6", verb, name, text,
		problem ? problem : "empty");
	return false;
}

bool parse_steps_option(const char *verb, const char *text, uint64_t *lo, uint64_t *hi)
{
	struct ranges r = {0};
	bool ok = parse_ranges_option(verb, &r, "step", text);

	if (ok && r.n > 1) {
		tool_error("%s: --step %s: only one step or range of steps", verb, text);
		ok = false;
	}
	if (ok) {
		*lo = r.item[0].lo;
		*hi = r.item[0].hi;
	}
	ranges_free(&r);
	return ok;
}
