/* SPDX-License-Identifier: Apache-2.0 */
/* The CSV reader: quoting, line ends, damage, compressed files, and random files against a reader written otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "text/text.h"
#include "sink/column.h"
#include "tools/lib/files/csv.h"

static char path[] = "/tmp/probe-csv-XXXXXX";

static void put(const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
}

static void put_gz(const char *text, size_t n, bool more)
{
	gzFile f = gzopen(path, more ? "ab" : "wb");

	assert_non_null(f);
	assert_int_equal(gzwrite(f, text, (unsigned)n), (int)n);
	gzclose(f);
}

static void open_csv(struct csv *c, const char *text)
{
	put(text, strlen(text));
	assert_int_equal(csv_open(c, path, UINT64_MAX, true, 0), 0);
}

#define assert_field(c, i, text)                                     \
	do {                                                         \
		const struct csv_text *field_ = csv_get_field(c, i); \
		assert_int_equal(field_->n, strlen(text));           \
		assert_memory_equal(field_->s, text, strlen(text));  \
	} while (0)

static void columns_by_name(void **state)
{
	struct csv c;

	(void)state;
	open_csv(&c, "b,a,\"odd, name\"\n1,2,3\n,,\n");
	assert_int_equal(csv_find_column(&c, "a"), 1);
	assert_int_equal(csv_find_column(&c, "b"), 0);
	assert_int_equal(csv_find_column(&c, "odd, name"), 2);
	assert_int_equal(csv_find_column(&c, "c"), -1);
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "1");
	assert_field(&c, 1, "2");
	assert_field(&c, -1, "");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "");
	assert_field(&c, 2, "");
	assert_false(csv_read_row(&c));
	assert_int_equal(c.rows, 2);
	assert_int_equal(c.damaged, 0);
	assert_false(c.truncated);
	csv_close(&c);
}

static void quotes(void **state)
{
	struct csv c;

	(void)state;
	open_csv(&c, "a,b,c\n\"x,y\",\"say \"\"hi\"\"\",\"\"\n\"two\nlines\",\"\"\"\",z\n1,2,3\n");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "x,y");
	assert_field(&c, 1, "say \"hi\"");
	assert_field(&c, 2, "");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "two\nlines");
	assert_field(&c, 1, "\"");
	assert_field(&c, 2, "z");
	assert_true(csv_read_row(&c));
	assert_field(&c, 2, "3");
	assert_false(csv_read_row(&c));
	assert_int_equal(c.damaged, 0);
	csv_close(&c);
}

static void crlf(void **state)
{
	struct csv c;

	(void)state;
	open_csv(&c, "a,b\r\n1,2\r\n\"3\",\"4\"\r\n5,\"6\"\r\n");
	assert_int_equal(csv_find_column(&c, "b"), 1);
	assert_true(csv_read_row(&c));
	assert_field(&c, 1, "2");
	assert_true(csv_read_row(&c));
	assert_field(&c, 1, "4");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "5");
	assert_field(&c, 1, "6");
	assert_false(csv_read_row(&c));
	assert_int_equal(c.damaged, 0);
	csv_close(&c);
}

static void truncated_last_line(void **state)
{
	struct csv c;

	(void)state;
	/* The right number of fields is no proof: the last number may have lost digits. */
	open_csv(&c, "a,b\n1,2\n3,45");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "1");
	assert_false(csv_read_row(&c));
	assert_true(c.truncated);
	assert_int_equal(c.rows, 1);
	csv_close(&c);
}

static void damaged_lines(void **state)
{
	static const char text[] =
		"a,b,c\n1,2,3\n1,2\n1,2,3,4\n\n\"open,2,3\n4,5,6\n\"x\"y,2,3\n7,8,9\n";
	struct csv c;

	(void)state;
	open_csv(&c, text);
	assert_true(csv_read_row(&c));
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "4");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "7");
	assert_false(csv_read_row(&c));
	assert_int_equal(c.rows, 3);
	assert_int_equal(c.damaged, 5);
	csv_close(&c);
	/* A quote in the middle of a field opens nothing. */
	open_csv(&c, "a,b,c\n1\"x,2,3\n4,5,6\n");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "1\"x");
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "4");
	assert_false(csv_read_row(&c));
	assert_int_equal(c.damaged, 0);
	csv_close(&c);
}

static void headers_only(void **state)
{
	struct csv c;

	(void)state;
	open_csv(&c, "a,b\n");
	assert_false(csv_read_row(&c));
	assert_false(c.truncated);
	csv_close(&c);
	put("", 0);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), -ENODATA);
	csv_close(&c);
	put("a,b", 3);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), -ENODATA);
	csv_close(&c);
	assert_int_equal(csv_open(&c, "/tmp/probe-csv-none", UINT64_MAX, true, 0), -ENOENT);
	csv_close(&c);
}

static void too_many_columns(void **state)
{
	char text[2 * CSV_COLUMNS_MAX + 2];
	struct csv c;

	(void)state;
	memset(text, ',', sizeof(text));
	text[CSV_COLUMNS_MAX] = '\n';
	put(text, CSV_COLUMNS_MAX + 1);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), -EINVAL);
	csv_close(&c);
	text[CSV_COLUMNS_MAX - 1] = '\n';
	put(text, CSV_COLUMNS_MAX);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), 0);
	assert_int_equal(c.ncolumns, CSV_COLUMNS_MAX);
	csv_close(&c);
}

/* A line longer than any row ends, and reading goes on after it; memory stays bounded. */
static void long_line(void **state)
{
	size_t n = 5u << 20;
	char *text = malloc(n + 64);
	struct csv c;

	(void)state;
	strcpy(text, "a,b\n1,2\n");
	memset(text + 8, 'x', n);
	strcpy(text + 8 + n, "\n3,4\n");
	put(text, strlen(text));
	free(text);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), 0);
	assert_true(csv_read_row(&c));
	assert_true(csv_read_row(&c));
	assert_field(&c, 0, "3");
	assert_false(csv_read_row(&c));
	assert_int_equal(c.damaged, 1);
	assert_true(c.cap <= 4 * CSV_ROW_MAX);
	csv_close(&c);
}

/* Data after the committed length is not read, wherever the limit is. */
static void limit(void **state)
{
	static const char text[] = "a,b\n1,2\n3,4\n5,6\n";
	struct csv c;

	(void)state;
	put(text, strlen(text));
	for (uint64_t k = 4; k <= strlen(text); k++) {
		unsigned n = 0;

		assert_int_equal(csv_open(&c, path, k, k & 1, 0), 0);
		while (csv_read_row(&c))
			n++;
		assert_int_equal(n, (k - 4) / 4);
		assert_int_equal(c.truncated, k % 4 != 0);
		csv_close(&c);
	}
}

static void compressed(void **state)
{
	struct csv c;
	char big[200000];
	size_t n = 4;
	unsigned rows = 0;

	(void)state;
	strcpy(big, "a,b\n");
	for (unsigned i = 0; n < sizeof(big) - 32; i++)
		n += (size_t)sprintf(big + n, "%u,%u\n", i, i * 7919 % 10007);
	put_gz(big, n, false);
	put_gz("77,88\n", 6, true); /* a second member */
	for (int keep = 0; keep < 2; keep++) {
		const char *p = strchr(big, '\n') + 1;

		assert_int_equal(csv_open(&c, path, UINT64_MAX, keep, 0), 0);
		for (rows = 0; p < big + n; rows++) {
			size_t len = strcspn(p, "\n");
			uint64_t a, b;

			assert_true(csv_read_row(&c));
			assert_true(csv_parse_u64(csv_get_field(&c, 0), &a));
			assert_true(csv_parse_u64(csv_get_field(&c, 1), &b));
			assert_int_equal(a, rows);
			assert_int_equal(b, strtoull(strchr(p, ',') + 1, NULL, 10));
			p += len + 1;
		}
		assert_true(csv_read_row(&c));
		assert_field(&c, 0, "77");
		assert_false(csv_read_row(&c));
		assert_false(c.truncated);
		csv_close(&c);
	}
}

static void compressed_and_cut(void **state)
{
	char big[100000];
	size_t n = 4;
	struct csv c;
	uint64_t rows = 0;

	(void)state;
	strcpy(big, "a,b\n");
	for (unsigned i = 0; n < sizeof(big) - 32; i++)
		n += (size_t)sprintf(big + n, "%u,%u\n", i, i * 7919 % 10007);
	put_gz(big, n, false);
	assert_int_equal(truncate(path, 5000), 0);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), 0);
	while (csv_read_row(&c))
		rows++;
	assert_true(rows > 100);
	assert_true(c.truncated);
	csv_close(&c);

	/* The cut may fall between two lines: uncompressed blocks after 10 bytes of header and 5 of the block. */
	gzFile f = gzopen(path, "wb0");

	assert_int_equal(gzwrite(f, "a,b\n1,2\n3,4\n", 12), 12);
	gzclose(f);
	assert_int_equal(truncate(path, 10 + 5 + 8), 0);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, true, 0), 0);
	assert_true(csv_read_row(&c));
	assert_field(&c, 1, "2");
	assert_false(csv_read_row(&c));
	assert_true(c.truncated);
	csv_close(&c);
}

/* ---- random files against a reader that goes byte by byte ---- */

struct plain {
	char cell[64][4096];
	unsigned n;
};

/* One record of well-formed CSV. */
static const char *plain_row(const char *p, struct plain *r)
{
	size_t len = 0;
	bool in = false;

	r->n = 0;
	for (;; p++) {
		if (in && p[0] == '"' && p[1] == '"') {
			r->cell[r->n][len++] = '"';
			p++;
		} else if (*p == '"') {
			in = !in;
		} else if (!in && (*p == ',' || *p == '\n')) {
			r->cell[r->n++][len] = 0;
			len = 0;
			if (*p == '\n')
				return p + 1;
		} else {
			r->cell[r->n][len++] = *p;
		}
	}
}

static void random_field(char **at, unsigned *seed)
{
	static const char any[] = "abc012 ,\"\n-.xyz";
	unsigned n = (unsigned)rand_r(seed) % 12, kind = (unsigned)rand_r(seed) % 6;

	if (kind == 0)
		n *= 40;
	if (kind < 5) {
		while (n--)
			*(*at)++ = "0123456789.-abcdef"[rand_r(seed) % 18];
		return;
	}
	*(*at)++ = '"';
	while (n--) {
		char c = any[rand_r(seed) % (sizeof(any) - 1)];

		*(*at)++ = c;
		if (c == '"')
			*(*at)++ = c;
	}
	*(*at)++ = '"';
}

static void against_plain_reader(void **state)
{
	static char text[1 << 20];
	static struct plain want;

	(void)state;
	for (unsigned round = 0; round < 200; round++) {
		unsigned seed = round * 31 + 7, columns = 1 + round % 40, rows = 30;
		char *at = text;
		const char *p;
		struct csv c;

		for (unsigned r = 0; r <= rows; r++)
			for (unsigned i = 0; i < columns; i++) {
				if (r == 0)
					at += sprintf(at, "c%u", i);
				else
					random_field(&at, &seed);
				*at++ = i + 1 < columns ? ',' : '\n';
			}
		*at = 0;
		put(text, (size_t)(at - text));
		assert_int_equal(csv_open(&c, path, UINT64_MAX, round & 1, 0), 0);
		p = plain_row(text, &want);
		for (unsigned r = 0; r < rows; r++) {
			p = plain_row(p, &want);
			assert_true(csv_read_row(&c));
			assert_int_equal(want.n, columns);
			for (unsigned i = 0; i < columns; i++)
				assert_field(&c, (int)i, want.cell[i]);
		}
		assert_false(csv_read_row(&c));
		assert_int_equal(c.damaged, 0);
		csv_close(&c);
	}
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t v;
	} u[] = {
		{"0", true, 0},
		{"18446744073709551615", true, UINT64_MAX},
		{"18446744073709551616", false, 0},
		{"99999999999999999999", false, 0},
		{"9999999999999999999", true, UINT64_C(9999999999999999999)},
		{"00000000000000000001", true, 1},
		{"000000000000000000001", false, 0},
		{"", false, 0},
		{"-1", false, 0},
		{"+1", false, 0},
		{" 1", false, 0},
		{"1x", false, 0},
		{"1.0", false, 0},
	};
	static const struct {
		const char *text;
		bool ok;
		int64_t v;
	} s[] = {
		{"-1", true, -1},
		{"9223372036854775807", true, INT64_MAX},
		{"9223372036854775808", false, 0},
		{"-9223372036854775808", true, INT64_MIN},
		{"-9223372036854775809", false, 0},
		{"-", false, 0},
		{"--1", false, 0},
		{"", false, 0},
	};
	double d;

	(void)state;
	for (size_t i = 0; i < sizeof(u) / sizeof(*u); i++) {
		struct csv_text t = {u[i].text, strlen(u[i].text)};
		uint64_t v = 0;

		assert_int_equal(csv_parse_u64(&t, &v), u[i].ok);
		if (u[i].ok)
			assert_int_equal(v, u[i].v);
	}
	for (size_t i = 0; i < sizeof(s) / sizeof(*s); i++) {
		struct csv_text t = {s[i].text, strlen(s[i].text)};
		int64_t v = 0;

		assert_int_equal(csv_parse_i64(&t, &v), s[i].ok);
		if (s[i].ok)
			assert_true(v == s[i].v);
	}
	assert_true(csv_parse_double(&(struct csv_text){"-1.5e3,", 6}, &d));
	assert_true(d == -1500);
	assert_true(csv_parse_double(&(struct csv_text){"nan", 3}, &d) && d != d);
	assert_false(csv_parse_double(&(struct csv_text){"1.5x", 4}, &d));
	assert_false(csv_parse_double(&(struct csv_text){"", 0}, &d));
}

static uint64_t random_word(void)
{
	static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* The text in a block of its own, so that a sanitizer sees a read beside it. */
static void check_double(const char *text)
{
	struct csv_text t = {.n = strlen(text)};
	char *copy = malloc(t.n + 1);
	uint64_t digits, all = 0;
	double exact = 0, fast = 0;
	unsigned n = 0;
	bool ok;

	memcpy(copy, text, t.n);
	t.s = copy;
	copy = realloc(copy, t.n + !t.n);
	t.s = copy;
	ok = csv_parse_double(&t, &exact);
	assert_int_equal(csv_parse_double_digits(&t, &fast, &digits), ok);
	if (ok && exact == exact && memcmp(&exact, &fast, sizeof(fast)) != 0)
		fail_msg("%s: %.17g expected, got %.17g", text, exact, fast);
	for (const char *p = text; *p && *p != 'e'; p++)
		if (*p >= '0' && *p <= '9') {
			n += n || *p != '0';
			all = all * 10 + (uint64_t)(*p - '0');
		}
	if (ok && digits)
		assert_int_equal(digits, all);
	if (ok && n && t.n <= 18 && !strpbrk(text, "e+"))
		assert_int_not_equal(digits, 0);
	free(copy);
}

static void doubles_of_few_digits_are_the_nearest(void **state)
{
	static const char letters[] = "0123456789012345678901234567890123456789...e-+";
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		uint64_t bits = random_word();
		unsigned n = 1 + (unsigned)(random_word() % 15);
		double v;

		memcpy(&v, &bits, sizeof(v));
		snprintf(text, sizeof(text), "%.*g", (int)n, v);
		check_double(text);
		snprintf(text, sizeof(text), "%.*g", (int)n,
			(double)(int64_t)bits /
				(double)(1 + (random_word() >> random_word() % 64)));
		check_double(text);
		/* Mostly no numbers. */
		for (unsigned k = 0; k < n; k++)
			text[k] = letters[random_word() % (sizeof(letters) - 1)];
		text[n] = 0;
		check_double(text);
	}
	check_double("");
	check_double("-");
	check_double(".");
	check_double("1e");
	check_double("1e+");
	check_double("0.00000000");
	check_double("-0.0000000");
	check_double("12345678.");
	check_double(".12345678");
	check_double("1234567.890123");
	check_double("12345678:.1");
}

static int make(void **state)
{
	(void)state;
	close(mkstemp(path));
	return 0;
}

static int clean(void **state)
{
	(void)state;
	return unlink(path);
}

/* ---- text of the job ---- */

static bool is_utf8(const char *s)
{
	for (int n; *s; s += n)
		if (!(n = text_measure_utf8(s)))
			return false;
	return true;
}

/* As a field of a file, and back. `cell`: the field as it is in the file. */
static char *through_a_file(const char *name, char *cell, size_t cap)
{
	char line[65536];
	struct text t = text_init(line, sizeof(line)), field = text_init(cell, cap);
	struct csv c;
	char *back;

	csv_add_field(&field, name);
	assert_false(field.cut);
	assert_true(field.len <= CSV_FIELD_SPACE * strlen(name) + 4);
	text_add_string(&t, "id,name,last\n1,");
	text_add_string(&t, cell);
	text_add_string(&t, ",x\n");
	put(line, t.len);
	assert_int_equal(csv_open(&c, path, UINT64_MAX, false, 0), 0);
	assert_true(csv_read_row(&c));
	back = csv_copy_field(csv_get_field(&c, 1));
	assert_true(csv_is(csv_get_field(&c, 2), "x"));
	assert_int_equal(c.damaged, 0);
	csv_close(&c);
	return back;
}

static void names_of_the_job_are_utf8_and_come_back(void **state)
{
	static const struct {
		const char *name, *cell;
	} cases[] = {
		{"", ""},
		{"layers.0.weight", "layers.0.weight"},
		{"\xff\xfe bad", "\\xff\\xfe bad"},
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"half \xe2\x82", "half \\xe2\\x82"},
		{"=1+2", "'=1+2"},
		{"+x", "'+x"},
		{"-x", "'-x"},
		{"@x", "'@x"},
		{"'=1", "''=1"},
		{"'quoted'", "'quoted'"},
		{"a=b", "a=b"},
		{"=a,b", "\"'=a,b\""},
		{"a \"b\"", "\"a \"\"b\"\"\""},
		{"back\\slash", "back\\slash"},
		{"not a byte: \\xff", "not a byte: \\x5cxff"},
		{"\\", "\\"},
		{"\\x", "\\x"},
		{"\\\\x41", "\\\\x5cx41"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char cell[512], *back = through_a_file(cases[i].name, cell, sizeof(cell));

		assert_string_equal(cell, cases[i].cell);
		assert_string_equal(back, cases[i].name);
		free(back);
	}
	srandom(11);
	for (int round = 0; round < 4000; round++) {
		static const char often[] = "\\x'=+-@,\"\n\r\xff\xc3\xbc\xe2\x82\xac"
					    "5c";
		char name[64], cell[1024], *back;
		unsigned n = (unsigned)random() % 24;

		for (unsigned k = 0; k < n; k++)
			name[k] = random() % 4 ? often[(unsigned)random() % (sizeof(often) - 1)]
					       : (char)(1 + random() % 255);
		name[n] = 0;
		back = through_a_file(name, cell, sizeof(cell));
		assert_string_equal(back, name);
		assert_true(is_utf8(cell));
		assert_null(strchr("=+-@", cell[0] == '"' ? cell[1] : cell[0] ? cell[0] : '_'));
		free(back);
	}
}

/* The same of rows, whose room is counted by bytes of the name: cut at whole characters. */
static void long_names_keep_to_their_room(void **state)
{
	char name[2000], cell[2 * ROW_STRING_MAX + 3];

	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct text t = text_init(cell, sizeof(cell));

		for (unsigned i = 0; i < sizeof(name) - 1; i++)
			name[i] = kind == 0   ? (char)0xff
				  : kind == 1 ? "\xe2\x82\xac"[i % 3]
				  : kind == 2 ? '"'
					      : 'a';
		name[sizeof(name) - 1] = 0;
		csv_add_field_max(&t, name, ROW_STRING_MAX);
		assert_false(t.cut);
		assert_true(is_utf8(cell));
		assert_true(t.len >= ROW_STRING_MAX - 4);
		assert_true(kind != 0 || strcmp(cell + t.len - 4, "\\xff") == 0);
	}
}

/* A name that is cut before what would make a formula of it is no formula: it is read back as its beginning. */
static void cut_names_are_read_back(void **state)
{
	static const struct {
		const char *name, *cell;
		size_t max;
	} cut[] = {{"+1", "", 0}, {"'=x", "'", 1}, {"'=x", "''=", 2}, {"=x", "'=", 1},
		{"''-", "''", 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(cut) / sizeof(*cut); i++) {
		char cell[64];
		struct text t = text_init(cell, sizeof(cell));

		csv_add_field_max(&t, cut[i].name, cut[i].max);
		assert_string_equal(cell, cut[i].cell);

		struct csv_text field = {cell, t.len};
		char *back = csv_copy_field(&field);

		assert_int_equal(strncmp(back, cut[i].name, cut[i].max), 0);
		assert_int_equal(strlen(back), cut[i].max);
		free(back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_by_name),
		cmocka_unit_test(quotes),
		cmocka_unit_test(crlf),
		cmocka_unit_test(truncated_last_line),
		cmocka_unit_test(damaged_lines),
		cmocka_unit_test(headers_only),
		cmocka_unit_test(too_many_columns),
		cmocka_unit_test(long_line),
		cmocka_unit_test(limit),
		cmocka_unit_test(compressed),
		cmocka_unit_test(compressed_and_cut),
		cmocka_unit_test(against_plain_reader),
		cmocka_unit_test(numbers),
		cmocka_unit_test(doubles_of_few_digits_are_the_nearest),
		cmocka_unit_test(names_of_the_job_are_utf8_and_come_back),
		cmocka_unit_test(cut_names_are_read_back),
		cmocka_unit_test(long_names_keep_to_their_room),
	};

	return cmocka_run_group_tests(tests, make, clean);
}
