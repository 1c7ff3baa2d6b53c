/* SPDX-License-Identifier: Apache-2.0 */
/* The images of hand-written digits: one a line, 64 pixels from 0 to 16 and the digit (tests/apps/data/README.md). */
#include "digits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

int read_digits(const char *path, struct dataset *data)
{
	gzFile file = gzopen(path, "rb");
	char line[512];

	if (!file)
		return -1;
	memset(data, 0, sizeof(*data));
	for (int row = 0; gzgets(file, line, sizeof(line)); row++) {
		struct image **set = row % 5 == 4 ? &data->test : &data->train;
		int *n = row % 5 == 4 ? &data->n_test : &data->n_train;
		char *next = line;

		*set = realloc(*set, (size_t)(*n + 1) * sizeof(**set));
		if (!*set)
			break;
		for (int i = 0; i < PIXELS; i++, next++)
			(*set)[*n].pixel[i] = (float)strtol(next, &next, 10) / 16.0f;
		(*set)[(*n)++].digit = (int)strtol(next, NULL, 10);
	}
	gzclose(file);
	return data->n_train && data->n_test ? 0 : -1;
}
