/* SPDX-License-Identifier: Apache-2.0 */
#include "call/forked.h"

#include "call/api.h"
#include "call/comm.h"
#include "entry/rows.h"
#include "stack/foreign.h"

/* *arg: the library of the row before. Those of one library mostly come together. */
static void of_library(struct api *a, void *arg)
{
	const struct lib **last = arg, *l = a->spec->lib;

	if (l == *last)
		return;
	*last = l;
	if (l->forked)
		l->forked();
}

void call_forked(void)
{
	const struct lib *last = NULL;

	comm_forked();
	foreign_forked();
	for (unsigned i = 0; i < api_count; i++)
		of_library(&api_table[i], &last);
	rows_each(of_library, &last);
}
