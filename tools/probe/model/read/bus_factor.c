/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/model/read/bus_factor.h"

#include <stdbool.h>
#include <string.h>

#include "tools/lib/intern.h"

static bool is_bus_operation(const struct call *c, const char *name)
{
	return strcmp(intern_get_name(c->op), name) == 0;
}

double call_get_bus_factor(const struct call *c)
{
	double n = c->size > 1 ? (double)c->size : 2;

	if (is_bus_operation(c, "all_reduce"))
		return 2 * (n - 1) / n;
	if (is_bus_operation(c, "all_gather") || is_bus_operation(c, "all_gather_v") ||
		is_bus_operation(c, "reduce_scatter") || is_bus_operation(c, "reduce_scatter_v") ||
		is_bus_operation(c, "all_to_all") || is_bus_operation(c, "all_to_all_v"))
		return (n - 1) / n;
	return 1;
}
