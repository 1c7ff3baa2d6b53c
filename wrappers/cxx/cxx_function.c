/* SPDX-License-Identifier: Apache-2.0 */
#include "wrappers/cxx/cxx_function.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define ROWS_MAX 8192

static _Atomic unsigned rows_made;

void *cxx_function_new(size_t bytes, const char *mangled, const char *framework)
{
	struct cxx_function *f;
	char *link_name;

	if (atomic_load(&rows_made) >= ROWS_MAX || !(f = calloc(1, bytes + strlen(mangled) + 1))) {
		log_loss(LOSS_ENTRY, "%s: no room for a row: %s is not recorded", framework,
			mangled);
		return NULL;
	}
	link_name = (char *)f + bytes;
	strcpy(link_name, mangled);
	f->spec.symbol = f->symbol;
	f->spec.link_name = link_name;
	f->spec.ffi = &f->ffi;
	f->api.spec = &f->spec;
	return f;
}

void cxx_function_keep(void)
{
	atomic_fetch_add(&rows_made, 1);
}
