/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/compare/entries/entry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tools/lib/tool.h"

#define POOL_BLOCK 4096

void *pool_alloc(struct pool *p, size_t bytes)
{
	char *at;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!p->n || p->used + bytes > p->size) {
		size_t size = bytes > POOL_BLOCK ? bytes : POOL_BLOCK;

		/* Blocks of an unusual size are not reused. */
		if (p->n)
			p->at++;
		if (p->at < p->n && size > POOL_BLOCK) {
			free(p->block[p->at]);
			p->block[p->at] = tool_alloc(size);
		} else if (p->at == p->n) {
			TOOL_GROW(p->block, p->n, p->cap);
			p->block[p->n++] = tool_alloc(size);
		}
		p->size = size;
		p->used = 0;
	}
	at = p->block[p->at] + p->used;
	p->used += bytes;
	return at;
}

char *pool_copy(struct pool *p, const char *s, size_t n)
{
	char *to = pool_alloc(p, n + 1);

	memcpy(to, s, n);
	to[n] = 0;
	return to;
}

char *pool_copy_text(struct pool *p, const char *s)
{
	return s ? pool_copy(p, s, strlen(s)) : NULL;
}

char *pool_format(struct pool *p, const char *fmt, ...)
{
	va_list ap;
	char *to;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	to = pool_alloc(p, (size_t)(n < 0 ? 0 : n) + 1);
	to[0] = 0;
	va_start(ap, fmt);
	if (n > 0)
		vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return to;
}

void pool_reset(struct pool *p)
{
	p->at = 0;
	p->used = 0;
	/* The first block may have been enlarged, but has at least this size. */
	p->size = p->n ? POOL_BLOCK : 0;
}

void pool_free(struct pool *p)
{
	for (unsigned i = 0; i < p->n; i++)
		free(p->block[i]);
	free(p->block);
	*p = (struct pool){0};
}

void reset_entry(struct entry *e)
{
	pool_reset(&e->pool);
	*e = (struct entry){
		.item = e->item, .cap = e->cap, .pool = e->pool, .step = -1, .comm_seq = -1};
}

void free_entry(struct entry *e)
{
	pool_free(&e->pool);
	free(e->item);
	*e = (struct entry){0};
}

struct item *add_entry_item(struct entry *e)
{
	TOOL_GROW(e->item, e->n, e->cap);
	e->item[e->n] = (struct item){0};
	return &e->item[e->n++];
}

unsigned find_entry_item(const struct entry *e, const char *tail, const bool *taken)
{
	for (unsigned i = 0; i < e->n; i++)
		if (!taken[i] && strcmp(e->item[i].tail, tail) == 0)
			return i;
	return UINT32_MAX;
}

static bool has_device_word(const char *s)
{
	for (; *s; s++)
		if (strncasecmp(s, "npu", 3) == 0 || strncasecmp(s, "cpu", 3) == 0 ||
			strncasecmp(s, "cuda", 4) == 0)
			return true;
	return false;
}

struct cell parse_cell(const char *text)
{
	struct cell c = {CELL_OTHER, 0, text};
	char *end;

	if (strcasecmp(text, "nan") == 0) {
		c.kind = CELL_NAN;
		c.v = NAN;
		c.text = "Nan"; /* as msprobe spells it */
	} else if (strcasecmp(text, "inf") == 0 || strcmp(text, "Infinity") == 0) {
		c.kind = CELL_INF;
		c.v = INFINITY;
		c.text = "inf";
	} else if (strcasecmp(text, "-inf") == 0 || strcmp(text, "-Infinity") == 0) {
		c.kind = CELL_MINUS_INF;
		c.v = -INFINITY;
		c.text = "-inf";
	} else if (strchr("+-.0123456789", *text) && *text) {
		c.v = strtod(text, &end);
		if (!*end)
			c.kind = CELL_NUMBER;
	}
	if (c.kind == CELL_OTHER)
		c.kind = strcmp(text, "N/A") == 0 ? CELL_NONE
			 : has_device_word(text)  ? CELL_DEVICE
						  : CELL_OTHER;
	return c;
}

const char *format_python_double(char buf[PYTHON_DOUBLE_MAX], double v)
{
	char *e, digits[24];
	int exponent, n = 0;

	if (!isfinite(v)) {
		strcpy(buf, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return buf;
	}
	/* Uses the fewest digits that parse to the same number. */
	for (int i = 15; i <= 17; i++) {
		snprintf(buf, PYTHON_DOUBLE_MAX, "%.*e", i - 1, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	e = strchr(buf, 'e');
	exponent = (int)strtol(e + 1, NULL, 10);
	for (const char *p = buf; p < e; p++)
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;

	char *to = buf;

	if (signbit(v))
		*to++ = '-';
	if (exponent < -4 || exponent >= 16) {
		*to++ = digits[0];
		if (n > 1)
			*to++ = '.';
		memcpy(to, digits + 1, (size_t)n - 1);
		to += n - 1;
		sprintf(to, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	} else if (exponent < 0) {
		*to++ = '0';
		*to++ = '.';
		for (int i = -1; i > exponent; i--)
			*to++ = '0';
		memcpy(to, digits, (size_t)n);
		to[n] = 0;
	} else {
		for (int i = 0; i <= exponent; i++)
			*to++ = i < n ? digits[i] : '0';
		*to++ = '.';
		if (n <= exponent + 1)
			*to++ = '0';
		for (int i = exponent + 1; i < n; i++)
			*to++ = digits[i];
		*to = 0;
	}
	return buf;
}
