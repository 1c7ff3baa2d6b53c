/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/lib/intern.h"

#include <string.h>

#include "tools/lib/tool.h"

#define NAMES_MAX 16384u
#define PLACES (2 * NAMES_MAX)

static struct name {
	const char *text;
	size_t n;
} name[NAMES_MAX] = {{"", 0}, {"(more names)", 12}};
static uint32_t count = 2;
static uint16_t place[PLACES];

uint32_t intern_text(const char *s, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * UINT64_C(0x100000001b3);
	for (uint32_t p = (uint32_t)(h ^ h >> 32) % PLACES;; p = (p + 1) % PLACES) {
		const struct name *have = &name[place[p]];

		if (!place[p]) {
			if (count == NAMES_MAX)
				return 1;
			/* Of damaged files: a NUL may be in it. */
			char *text = tool_alloc(n + 1);

			memcpy(text, s, n);
			name[count] = (struct name){text, n};
			place[p] = (uint16_t)count;
			return count++;
		}
		if (have->n == n && memcmp(have->text, s, n) == 0)
			return place[p];
	}
}

const char *intern_name(uint32_t id)
{
	return name[id < count ? id : 0].text;
}
