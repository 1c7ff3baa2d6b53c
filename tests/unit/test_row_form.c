/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that calls have in common: a file in the usual order of columns, whose known forms are copied, gives the same calls as one
 * in another order, whose columns are all parsed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "journal/columns.h"
#include "tools/probe/model/read/calls.h"

#define ROWS 20000
#define NAME "calls_0-99.csv"

#define SITES 12
static uint64_t seed;

static unsigned draw(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static const char *draw_text(const char *const *list, unsigned n)
{
	return list[draw(n)];
}

#define DRAW(...)                                     \
	draw_text((const char *const[]){__VA_ARGS__}, \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* One row: api after op in the second file. */
static void write_row(FILE *usual, FILE *other, unsigned seq)
{
	static uint64_t place = UINT64_C(0x9e3779b97f4a7c15);
	const char *stack, *api, *op;
	char rest[1024];

	/* Few sites, whose calls differ only by their stack. */
	seed = place;
	stack = DRAW("1", "2", "3", "4", "5", "6", "7", "8", "9");
	place = seed;
	seed = (1 + draw(SITES)) * UINT64_C(0x632be59bd9b4e019);
	api = DRAW("MPI_Send", "MPI_Bcast", "\"a,\"\"b\"", "x");
	op = DRAW("send", "broadcast", "");

	snprintf(rest, sizeof(rest),
		"%s,%u,%s,%s,%s,%s,%s,%s,0,%s,,%s,40,-1.25,2.5,0.123456789,1e-05,0,0,0,%u,%u,%s,%s,"
		"%s,%s,%s,,"
		"%s,,,,,,",
		DRAW("1111111111111111", "a222222222222222", "", "local"), seq, DRAW("0", "1", ""),
		DRAW("2", "20", ""), DRAW("sum", "max", ""), DRAW("0", "1", ""),
		DRAW("", "", "1", "11"), DRAW("in", "out", ""), DRAW("float32", "int8", ""),
		DRAW("10", "100", "1", "0", ""), 1000 + seq, draw(9999), DRAW("4711", "471", "11"),
		stack, DRAW("", "", "open", "error:5", "error:6", "async;localcomm"),
		DRAW("", "", "3"), DRAW("", "forward"), DRAW("", "", "", "7"));
	fprintf(usual, "%u,,%u,mpi,%s,%s,%s\n", seq / 200, seq, api, op, rest);
	fprintf(other, "%u,,%u,mpi,%s,%s,%s\n", seq / 200, seq, op, api, rest);
}

static void open_folder(struct calls *s, struct rank_dir *d, char *path)
{
	*d = (struct rank_dir){.path = path};
	calls_open(s, d, 0, NULL);
}

static void known_forms_give_the_parsed_calls(void **state)
{
	char a[] = "/tmp/probe-form-XXXXXX", b[] = "/tmp/probe-form-XXXXXX", path[64], header[2048];
	struct rank_dir da, db;
	static struct calls x, y;
	static struct call p, q;
	unsigned n = 0;
	FILE *f[2];
	char *swap;

	(void)state;
	assert_non_null(mkdtemp(a));
	assert_non_null(mkdtemp(b));
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/" NAME, i ? b : a);
		f[i] = fopen(path, "w");
		assert_non_null(f[i]);
	}
	snprintf(header, sizeof(header), "%s", ROW_HEADER);
	fputs(header, f[0]);
	swap = strstr(header, ",api,op,");
	assert_non_null(swap);
	memcpy(swap, ",op,api,", 8);
	fputs(header, f[1]);
	for (unsigned i = 0; i < ROWS; i++)
		write_row(f[0], f[1], i + 1);
	fclose(f[0]);
	fclose(f[1]);
	open_folder(&x, &da, a);
	open_folder(&y, &db, b);
	while (calls_read_next(&x, &p)) {
		assert_true(calls_read_next(&y, &q));
		if (memcmp(&p, &q, offsetof(struct call, in)) != 0)
			fail_msg("call %u differs", n + 1);
		n++;
	}
	assert_false(calls_read_next(&y, &q));
	assert_int_equal(n, ROWS);
	assert_int_equal(x.damaged + y.damaged, 0);
	calls_close(&x);
	calls_close(&y);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/" NAME, i ? b : a);
		unlink(path);
		rmdir(i ? b : a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_forms_give_the_parsed_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
