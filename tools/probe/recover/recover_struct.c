/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes module_struct.json from names.csv. A killed process may have left some modules in its
 * journal, or may not have written the file yet.
 */
#include "tools/probe/recover/recover_struct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terms/dtype.h"
#include "journal/columns.h"
#include "formats/csv_training/structure.h"
#include "tools/probe/model/read/names.h"

#define DIMS_MAX 64

static uint8_t find_dtype_of_name(const char *name)
{
	for (int i = 0; i < DT_COUNT; i++)
		if (strcmp(get_dtype_info((enum dtype)i)->name, name) == 0)
			return (uint8_t)i;
	return DT_OTHER;
}

/* Parses "8x512"; "-" for a scalar. */
static unsigned parse_shape_dims(const char *shape, uint64_t dims[DIMS_MAX])
{
	unsigned n = 0;
	char *end;

	while (n < DIMS_MAX && *shape >= '0' && *shape <= '9') {
		dims[n++] = strtoull(shape, &end, 10);
		shape = end + (*end == 'x');
	}
	return n;
}

static uint32_t parse_name_flags(const char *words)
{
	uint32_t flags = 0;

	for (unsigned i = 0; i < JN_FLAGS; i++) {
		const char *at = strstr(words, name_flag_words[i]);
		char end = at ? at[strlen(name_flag_words[i])] : 0;

		if (at && (at == words || at[-1] == ';') && (!end || end == ';'))
			flags |= 1u << i;
	}
	return flags;
}

static void add_struct_row(struct structure **s, const struct name_row *r)
{
	uint64_t dims[DIMS_MAX];
	struct record_name e = {.what = r->what == NAME_MODULE ? JN_MODULE : JN_PARAM,
		.dtype = find_dtype_of_name(r->dtype),
		.vpp_stage = (uint16_t)(r->vpp_stage < 0 ? 0 : r->vpp_stage),
		.id = (uint32_t)r->id,
		.flags = parse_name_flags(r->flags),
		.name = r->name,
		.module = r->module,
		.type = r->type,
		.ndim = parse_shape_dims(r->shape, dims),
		.dims = dims};

	structure_add(s, &e);
}

void write_recovered_structure(int dirfd)
{
	struct structure *s = NULL;
	struct names names;
	bool modules = false;
	char folder[64];

	snprintf(folder, sizeof(folder), "/proc/self/fd/%d", dirfd);
	if (names_read(&names, folder) == 0)
		for (unsigned i = 0; i < names.n; i++)
			modules |= names.row[i].what == NAME_MODULE;
	for (unsigned i = 0; modules && i < names.n; i++)
		if (names.row[i].what == NAME_MODULE || names.row[i].what == NAME_PARAM)
			add_struct_row(&s, &names.row[i]);
	structure_write(s, dirfd);
	structure_free(s);
	names_free(&names);
}
