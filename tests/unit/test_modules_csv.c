/* SPDX-License-Identifier: Apache-2.0 */
/* modules.csv: every file of the dictionary, rewritten when one came, left alone otherwise. */
#include "core_helper.h"

#include "sink/modules_csv.h"

static void add(struct journal *j, const char *range, const char *path)
{
	char text[256];
	size_t n = strlen(range) + 1;

	memcpy(text, range, n);
	strcpy(text + n, path);
	assert_int_equal(journal_dict_add(j, DICT_MODULE, 0, text, n + strlen(path) + 1), 0);
}

static char *read_modules(const struct rank *r)
{
	char path[128];
	size_t n;

	snprintf(path, sizeof(path), "%s/modules.csv", r->dir);
	return read_test_file(path, &n);
}

static void test_written_when_new(void **state)
{
	struct rank r;
	uint64_t written = 0;
	char *have;
	char path[128];

	(void)state;
	rank_make(&r, 1u << 20);
	snprintf(path, sizeof(path), "%s/modules.csv", r.dir);
	assert_int_equal(modules_write(&r.j, r.dirfd, &written), 0);
	assert_int_equal(access(path, F_OK), -1);

	add(&r.j, "1000 2000 0 00ff10", "/opt/a,b/lib\"x\".so");
	add(&r.j, "3000 4000 0 -", "[vdso]");
	assert_int_equal(modules_write(&r.j, r.dirfd, &written), 0);
	have = read_modules(&r);
	assert_string_equal(have, "path,build_id\n\"/opt/a,b/lib\"\"x\"\".so\",00ff10\n[vdso],\n");
	free(have);

	/* Nothing new: not touched. */
	unlink(path);
	dict_api(&r.j, 1, "MPI_Send");
	assert_int_equal(modules_write(&r.j, r.dirfd, &written), 0);
	assert_int_equal(access(path, F_OK), -1);

	/* One more: all of them again. */
	add(&r.j, "5000 6000 0 abcd", "/lib/late.so");
	assert_int_equal(modules_write(&r.j, r.dirfd, &written), 0);
	have = read_modules(&r);
	assert_string_equal(have, "path,build_id\n\"/opt/a,b/lib\"\"x\"\".so\",00ff10\n[vdso],\n"
				  "/lib/late.so,abcd\n");
	free(have);
	rank_drop(&r);
}

/* A folder that cannot be written to now is written to later. */
static void test_tried_again(void **state)
{
	struct rank r;
	uint64_t written = 0;

	(void)state;
	rank_make(&r, 1u << 20);
	add(&r.j, "1000 2000 0 01", "/lib/a.so");
	assert_true(modules_write(&r.j, -1000, &written) < 0);
	assert_int_equal(written, 0);
	assert_int_equal(modules_write(&r.j, r.dirfd, &written), 0);
	assert_true(written > 0);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_when_new),
		cmocka_unit_test(test_tried_again),
	};

	return cmocka_run_group_tests_name("sink modules", tests, NULL, NULL);
}
