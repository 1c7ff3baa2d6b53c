/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/python/python_layout.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define OLD_FRAME .frame = 24, .inner = -1, .back = 24, .code = 32, .globals = 48, .nlocals = 28, .varnames = 72, \
	.cellvars = 88, .freevars = 80
#define NEW_FRAME .back = 8, .code = 0, .globals = 24, .at_form = PY_AT_POINTER, .at = 56, .shim = 3
#define OLD_STR .ascii_data = 48, .other_data = 72
#define NEW_STR .ascii_data = 40, .other_data = 56

static const struct py_layout layouts[] = {
	{.minor = 8, OLD_FRAME, .at_form = PY_AT_BYTES, .at = 104,
		.file = 104, .name = 112, .firstline = 40, OLD_STR, .locals = 360},
	{.minor = 9, OLD_FRAME, .at_form = PY_AT_BYTES, .at = 104,
		.file = 104, .name = 112, .firstline = 40, OLD_STR, .locals = 360, .collector = 616},
	{.minor = 10, OLD_FRAME, .at_form = PY_AT_UNITS, .at = 96,
		.file = 104, .name = 112, .firstline = 40, OLD_STR, .locals = 352, .collector = 616},
	{.minor = 11, .frame = 56, .inner = 8, .back = 48, .code = 32, .globals = 8,
		.at_form = PY_AT_POINTER, .at = 56, .owner = 69, .shim = 3,
		.file = 112, .name = 128, .firstline = 72, .start = 184, .traceable = 168, OLD_STR,
		.locals = 72, .nlocals = 76, .varnames = 96, .values = PY_VALUES_BESIDE, .collector = 648},
	{.minor = 12, .frame = 56, .inner = 0, NEW_FRAME, .owner = 70,
		.file = 112, .name = 128, .firstline = 68, .start = 192, .traceable = 176, NEW_STR,
		.locals = 72, .nlocals = 72, .varnames = 96, .values = PY_VALUES_TAGGED, .collector = 112},
	{.minor = 13, .frame = 72, .inner = -1, NEW_FRAME, .owner = 70,
		.file = 112, .name = 128, .firstline = 68, .start = 200, .traceable = 184, NEW_STR,
		.locals = 72, .nlocals = 72, .varnames = 96, .values = PY_VALUES_INSIDE},
	{.minor = 14, .frame = 72, .inner = -1, NEW_FRAME, .owner = 74,
		.file = 112, .name = 128, .firstline = 68, .start = 208, .traceable = 192, NEW_STR,
		.locals = 80, .nlocals = 72, .varnames = 96, .values = PY_VALUES_INSIDE},
	{.minor = 15, .frame = 72, .inner = -1, NEW_FRAME, .owner = 74,
		.file = 112, .name = 128, .firstline = 68, .start = 208, .traceable = 192, NEW_STR,
		.locals = 80, .nlocals = 72, .varnames = 96, .values = PY_VALUES_INSIDE},
};
/* clang-format on */

/* Parses text of Py_GetVersion(): "3.11.7 (main, ...) [GCC ...]", "3.13.0 experimental free-threading build (...)". */
const struct py_layout *py_find_layout(const char *version)
{
	char *end;
	unsigned long minor;

	if (strncmp(version, "3.", 2) != 0 || strstr(version, "free-threading"))
		return NULL;
	minor = strtoul(version + 2, &end, 10);
	if (end == version + 2 || *end != '.')
		return NULL;
	strtoul(end + 1, &end, 10);
	/* 3.15.0a1, 3.14.0b3: layouts differ between alphas and betas. */
	if (*end == 'a' || *end == 'b')
		return NULL;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}
