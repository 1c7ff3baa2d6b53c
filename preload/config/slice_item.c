/* SPDX-License-Identifier: Apache-2.0 */
#include "config/slice_item.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORM "not of the form DIMENSION:BEGIN:END[:SIZE], such as 0:0:8 or 1:-16::128"

static const char *parse_part(const char *text, size_t len, int64_t none, int64_t *value)
{
	char digits[24], *end;

	*value = none;
	if (!len)
		return NULL;
	if (len >= sizeof(digits) || !strchr("-0123456789", *text))
		return FORM;
	memcpy(digits, text, len);
	digits[len] = 0;
	errno = 0;
	*value = strtoll(digits, &end, 10);
	return errno || *end || end == digits ? FORM : NULL;
}

const char *slice_item_parse(const char *text, size_t len, struct slice_item *item)
{
	int64_t *const to[] = {&item->dim, &item->begin, &item->end, &item->size};
	const int64_t none[] = {0, 0, SLICE_TO_END, SLICE_ANY_SIZE};
	unsigned n = 0;

	item->size = SLICE_ANY_SIZE;
	for (size_t at = 0, part; at <= len; at += part + 1, n++) {
		const char *colon = memchr(text + at, ':', len - at);
		const char *wrong;

		part = colon ? (size_t)(colon - text) - at : len - at;
		if (n == 4)
			return FORM;
		wrong = parse_part(text + at, part, none[n], to[n]);
		if (wrong)
			return wrong;
	}
	if (n < 3)
		return FORM;
	if (item->dim < 0)
		return "the dimension is negative; accepted: 0 or more";
	return item->size < SLICE_ANY_SIZE ? "the size is negative; accepted: 0 or more" : NULL;
}
