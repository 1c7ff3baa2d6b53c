/* SPDX-License-Identifier: Apache-2.0 */
#include "call/named_row.h"

#include <stdlib.h>
#include <string.h>

#include "api/runtime_registry.h"

struct named_row {
	struct api api;
	struct made_row made;
	struct api_spec spec;
	struct kind kind;
	char op[];
};

struct api *named_row_new(const struct adapter *lib, const char *symbol, const char *op)
{
	size_t n = strlen(op) + 1;
	struct named_row *r = calloc(1, sizeof(*r) + n);

	if (!r)
		return NULL;
	memcpy(r->op, op, n);
	r->kind = (struct kind){.name = r->op, .op = r->op};
	r->spec = (struct api_spec){.symbol = symbol,
		.list_name = symbol,
		.lib = lib,
		.kind = &r->kind,
		.task = TASK_DATA};
	r->api.spec = &r->spec;
	r->made.api = &r->api;
	rows_add(&r->made);
	return &r->api;
}
