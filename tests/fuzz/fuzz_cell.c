/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a name of the job: the field that is made of it is UTF-8, no formula, keeps to its room, and is read back as the same
 * bytes. The first byte cuts the name where rows do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "sink/column.h"
#include "tools/lib/files/csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* The field without its quotes, as the reader of a file gives it. */
static struct csv_text unquoted(char *cell, size_t n)
{
	struct csv_text t = {cell, n};
	size_t k = 0;

	if (!n || cell[0] != '"')
		return t;
	CHECK(n >= 2 && cell[n - 1] == '"');
	for (size_t i = 1; i < n - 1; i++) {
		CHECK(cell[i] != '"' || (i + 1 < n - 1 && cell[i + 1] == '"'));
		i += cell[i] == '"';
		cell[k++] = cell[i];
	}
	t.n = k;
	return t;
}

static void check_cell(const char *name, size_t max)
{
	size_t room = CSV_FIELD_SPACE * strlen(name) + 5;
	char *cell = malloc(room), *back;
	struct text t = text_init(cell, room);
	struct csv_text field;

	if (max == SIZE_MAX)
		csv_add_field(&t, name);
	else
		csv_add_field_max(&t, name, max);
	CHECK(!t.cut && (max == SIZE_MAX || t.len <= 2 * max + 2));
	for (int k = 0, n; cell[k]; k += n)
		CHECK((n = text_measure_utf8(cell + k)));
	CHECK(cell[0] == '"' || !strpbrk(cell, ",\r\n"));
	field = unquoted(cell, t.len);
	CHECK(!field.n || !memchr("=+-@", field.s[0], 4));
	back = csv_copy_field(&field);
	CHECK(max == SIZE_MAX ? strcmp(back, name) == 0 : strncmp(back, name, strlen(back)) == 0);
	free(back);
	free(cell);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name;

	if (!size)
		return 0;
	name = strndup((const char *)data + 1, size - 1);
	check_cell(name, SIZE_MAX);
	check_cell(name, data[0]);
	free(name);
	return 0;
}
