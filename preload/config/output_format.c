/* SPDX-License-Identifier: Apache-2.0 */
#include "config/output_format.h"

#include <string.h>

const char *const output_format_names[] = {
	"csv", "dump", "monitor", "tensorboard", "compact", "api", NULL};

uint32_t parse_output_formats(const char *words)
{
	uint32_t formats = 0;

	for (size_t n; *words; words += n + (words[n] == '\n')) {
		n = strcspn(words, "\n");
		for (unsigned i = 0; i < OUTPUT_FORMATS; i++)
			if (strlen(output_format_names[i]) == n &&
				memcmp(output_format_names[i], words, n) == 0)
				formats |= UINT32_C(1) << i;
	}
	return formats;
}

bool output_has_format(const char *words, enum output_format f)
{
	return words && parse_output_formats(words) >> f & 1;
}
