/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables: every row of every function of the libraries in this process, as readelf prints it, against the rule
 * that cfi_find() makes of it; and the expressions that tables contain.
 */
#include <link.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "stack/cfi_read.h"
#include "stack/objects.h"
#include "elf/loaded/modules.h"

#if defined(__x86_64__)
static const char sp_name[] = "rsp", fp_name[] = "rbp";
#else
static const char sp_name[] = "sp", fp_name[] = "x29";
#endif

#define COLUMNS 64

#define FUNCTIONS 65536

struct checked {
	uint64_t bias, start, end;
	int fp_column, ra_column;
	long rows, wrong;
	int functions;
	uint64_t from[FUNCTIONS], to[FUNCTIONS];
};

static struct cfi_rule found;

static void find(void *arg, const struct object *o)
{
	if (o->table)
		cfi_find(o->table, o->table_lo, o->table_hi, *(const uintptr_t *)arg, &found);
}

static void rule_at(uint64_t pc)
{
	uintptr_t at = (uintptr_t)pc;

	memset(&found, 0xee, sizeof(found));
	found.kind = CFI_NONE;
	objects_find(at, find, &at);
}

/* readelf shows "u" for what is undefined and for what no instruction has mentioned. */
static int same_place(const char *text, const struct cfi_place *p)
{
	char *end;
	long off;

	if (!text || !strcmp(text, "u"))
		return p->base == CFI_SAME || p->base == CFI_UNDEFINED;
	if (!strcmp(text, "s"))
		return p->base == CFI_SAME;
	if (text[0] != 'c') /* an expression, another register, a value */
		return p->base != CFI_AT_CFA && p->base != CFI_SAME;
	off = strtol(text + 1, &end, 10);
	return !*end && p->base == CFI_AT_CFA && p->off == off;
}

static int same_cfa(const char *text)
{
	size_t n = strcspn(text, "+-");

	if (!text[n]) /* an expression */
		return found.cfa.base == CFI_LOST || found.cfa.base == CFI_AT_SP ||
		       found.cfa.base == CFI_AT_FP;
	if (found.deref)
		return 0;
	if (n == strlen(sp_name) && !strncmp(text, sp_name, n))
		return found.cfa.base == CFI_AT_SP && found.cfa.off == atol(text + n);
	if (n == strlen(fp_name) && !strncmp(text, fp_name, n))
		return found.cfa.base == CFI_AT_FP && found.cfa.off == atol(text + n);
	return found.cfa.base == CFI_LOST;
}

static int split(char *line, char **word)
{
	int n = 0;

	for (char *p = strtok(line, " \n"); p && n < COLUMNS; p = strtok(NULL, " \n"))
		word[n++] = p;
	return n;
}

static void check_row(struct checked *c, char **word, int n, uint64_t pc, const char *line)
{
	int places = !strchr(
		line, '('); /* "r9 (r9)" takes two words; such rows are checked by their CFA */

	rule_at(c->bias + pc);
	c->rows++;
	if (found.kind == CFI_FRAME && same_cfa(word[1]) &&
		(!places ||
			(same_place(
				 c->fp_column > 0 && c->fp_column < n ? word[c->fp_column] : NULL,
				 &found.fp) &&
				same_place(c->ra_column > 0 && c->ra_column < n ? word[c->ra_column]
										: NULL,
					&found.ra))))
		return;
	if (c->wrong++ < 5)
		fprintf(stderr, "%lx: %s   is kind %d cfa %d%+d fp %d%+d ra %d%+d\n",
			(unsigned long)pc, line, found.kind, found.cfa.base, found.cfa.off,
			found.fp.base, found.fp.off, found.ra.base, found.ra.off);
}

/* A row holds from its address to the next one's; its last byte is looked up too. */
static void check_table(FILE *f, struct checked *c)
{
	char line[1024], copy[1024], last[1024] = "", *word[COLUMNS];
	uint64_t last_pc = 0;
	int n, in_function = 0;

	while (fgets(line, sizeof(line), f)) {
		char *range = strstr(line, " pc=");
		uint64_t pc;

		strcpy(copy, line);
		n = split(copy, word);
		if (last[0] &&
			(n == 0 || (in_function && strspn(line, "0123456789abcdef") == 16))) {
			uint64_t end = n ? strtoull(line, NULL, 16) : c->end;
			char row[1024], *w[COLUMNS];
			int nw;

			strcpy(row, last);
			nw = split(row, w);
			/* A row may begin where the function ends. */
			if (end > last_pc) {
				check_row(c, w, nw, last_pc, last);
				check_row(c, w, nw, end - 1, last);
			}
			last[0] = '\0';
		}
		if (n == 0) {
			in_function = 0;
		} else if (range && sscanf(range, " pc=%lx..%lx", &c->start, &c->end) == 2) {
			in_function = c->end > c->start;
			if (c->functions < FUNCTIONS) {
				c->from[c->functions] = c->start;
				c->to[c->functions++] = c->end;
			}
		} else if (in_function && !strcmp(word[0], "LOC")) {
			c->fp_column = c->ra_column = 0;
			for (int i = 2; i < n; i++) {
				if (!strcmp(word[i], fp_name))
					c->fp_column = i;
				else if (!strcmp(word[i], "ra"))
					c->ra_column = i;
			}
		} else if (in_function && strspn(line, "0123456789abcdef") == 16) {
			pc = strtoull(line, NULL, 16);
			strcpy(last, line);
			last_pc = pc;
		}
	}
}

/* Memory between two functions belongs to neither. */
static void check_gaps(struct checked *c)
{
	for (int i = 0; i < c->functions; i++) {
		int inside = 0;

		for (int k = 0; k < c->functions && !inside; k++)
			inside = c->to[i] >= c->from[k] && c->to[i] < c->to[k];
		if (inside)
			continue;
		rule_at(c->bias + c->to[i]);
		c->rows++;
		c->wrong += found.kind != CFI_NONE;
	}
}

struct listed {
	struct module m[32];
	int n;
};

static void list(void *arg, const struct module *m)
{
	struct listed *l = arg;

	if (m->path[0] == '/' && l->n < 32)
		l->m[l->n++] = *m;
}

static void rows_are_read_as_readelf_reads_them(void **state)
{
	static struct listed l;
	long rows = 0;

	(void)state;
	modules_handle_each(list, &l);
	for (int i = 0; i < l.n; i++) {
		static struct checked c;
		char cmd[MODULE_PATH_MAX + 64];
		FILE *f;

		memset(&c, 0, sizeof(c));
		c.bias = l.m[i].bias;
		snprintf(cmd, sizeof(cmd), "LC_ALL=C %s -wF '%s' 2>/dev/null",
			getenv("READELF") ? getenv("READELF") : "readelf", l.m[i].path);
		f = popen(cmd, "r");
		assert_non_null(f);
		check_table(f, &c);
		pclose(f);
		check_gaps(&c);
		printf("# %s: %ld lookups, %ld wrong\n", l.m[i].path, c.rows, c.wrong);
		assert_int_equal(c.wrong, 0);
		rows += c.rows;
	}
	assert_true(rows > 5000);
}

static struct cursor bytes(const uint8_t *p, size_t n)
{
	struct cursor c = {.p = p, .end = p + n};

	return c;
}

#define EXPRESSION(v, pc, ...)                                                                     \
	cfi_read_expression(                                                                       \
		bytes((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})), pc, \
		v)

static void expressions(void **state)
{
	struct cfi_value v;

	(void)state;
#if defined(__x86_64__)
	/* The PLT's: sp + 8, and 8 more where (pc & 15) >= 11, after its push. */
	for (uint64_t pc = 0x401020; pc < 0x401030; pc++) {
		assert_true(EXPRESSION(
			&v, pc, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22));
		assert_int_equal(v.base, CFI_AT_SP);
		assert_int_equal(v.off, (pc & 15) >= 11 ? 16 : 8);
		assert_int_equal(v.deref, 0);
	}
	/* A realigned function's: *(fp - 8). */
	assert_true(EXPRESSION(&v, 0, 0x76, 0x78, 0x06));
	assert_true(v.base == CFI_AT_FP && v.off == -8 && v.deref && !v.add);
	/* Assembly's: *(sp + 40) + 8. */
	assert_true(EXPRESSION(&v, 0, 0x77, 40, 0x06, 0x23, 8));
	assert_true(v.base == CFI_AT_SP && v.off == 40 && v.deref && v.add == 8);
	/* 2 + (sp + 0) - 130: constants on either side, one in two bytes. */
	assert_true(EXPRESSION(&v, 0, 0x32, 0x77, 0, 0x22, 0x08, 130, 0x1c));
	assert_true(v.base == CFI_AT_SP && v.off == -128 && !v.deref);
	/* Another register; nothing; two values; too few; a read of a read; a cut off number. */
	assert_false(EXPRESSION(&v, 0, 0x73, 0));
	assert_false(cfi_read_expression(bytes((const uint8_t *)"", 0), 0, &v));
	assert_false(EXPRESSION(&v, 0, 0x31, 0x31));
	assert_false(EXPRESSION(&v, 0, 0x31, 0x22));
	assert_false(EXPRESSION(&v, 0, 0x77, 0, 0x06, 0x06));
	assert_false(EXPRESSION(&v, 0, 0x77, 0x80));
	/* Deeper than any that exists. */
	assert_false(EXPRESSION(&v, 0, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x31, 0x22,
		0x22, 0x22, 0x22, 0x22, 0x22, 0x22, 0x22));
	assert_false(EXPRESSION(&v, 0, 0x77, 0, 0x77, 0, 0x77, 0, 0x77, 0, 0x77, 0, 0x77, 0, 0x77,
		0, 0x77, 0, 0x77, 0, 0x22));
#else
	assert_true(EXPRESSION(&v, 0, 0x8d, 0x78, 0x06)); /* *(x29 - 8) */
	assert_true(v.base == CFI_AT_FP && v.off == -8 && v.deref && !v.add);
	assert_true(EXPRESSION(&v, 0, 0x8f, 16)); /* sp + 16 */
	assert_true(v.base == CFI_AT_SP && v.off == 16 && !v.deref);
	assert_false(EXPRESSION(&v, 0, 0x73, 0));
#endif
}

/* A real table, cut off at every length and with every byte changed, at the end of readable memory. */
static struct {
	uint8_t *copy;
	size_t cap, len;
	uintptr_t at;
} cut;

static void copy_table(void *arg, const struct object *o)
{
	size_t len = o->table_hi - o->table;

	(void)arg;
	if (!o->table || len > cut.cap)
		return;
	memcpy(cut.copy + cut.cap - len, (const void *)o->table, len);
	cut.len = len;
	cut.at = o->table;
}

static void damaged_tables(void **state)
{
	uintptr_t self = (uintptr_t)damaged_tables, lo, hi;
	struct cfi_rule r;
	uint32_t seed = 5;

	(void)state;
	cut.cap = 1 << 20;
	cut.copy = mmap(
		NULL, cut.cap + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(cut.copy, MAP_FAILED);
	mprotect(cut.copy + cut.cap, 4096, PROT_NONE);
	objects_find(self, copy_table, NULL);
	assert_true(cut.len > 64);
	lo = (uintptr_t)cut.copy + cut.cap - cut.len;
	hi = (uintptr_t)cut.copy + cut.cap;
	self += lo - cut.at; /* tables are relative to themselves */
	cfi_find(lo, lo, hi, self, &r);
	assert_int_equal(r.kind, CFI_FRAME);
	for (int i = 0; i < 300000; i++) {
		uint8_t *b, old;

		seed = seed * 1664525u + 1013904223u;
		b = (uint8_t *)lo + (seed >> 8) % (i & 1		   ? cut.len
							  : 4096 < cut.len ? 4096
									   : cut.len);
		old = *b;
		*b = (uint8_t)(seed >> 3);
		cfi_find(lo, lo, hi, self + (seed >> 20), &r);
		assert_true(r.kind == CFI_NONE || r.kind == CFI_FRAME);
		if (i % 3)
			*b = old; /* every third change stays */
	}
	munmap(cut.copy, cut.cap + 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_read_as_readelf_reads_them),
		cmocka_unit_test(expressions),
		cmocka_unit_test(damaged_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
