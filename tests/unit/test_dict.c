/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's dictionary: what is added is found, even if others add at that time or die in the middle of it. */
#include "core_helper.h"

#include <pthread.h>

#define MIB (1u << 20)

static void test_kinds_and_replacement(void **state)
{
	struct journal j;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, MIB), 0);
	dict_api(&j, 1, "MPI_Send");
	assert_int_equal(journal_dict_add(&j, DICT_MODULE, 1, "1 2 0 -\0/a", 11), 0);
	assert_int_equal(journal_dict_add(&j, DICT_META, 2, "config\0{}", 10), 0);
	assert_int_equal(journal_dict_add(&j, DICT_META, 2, "config\0[7]", 11), 0);
	assert_string_equal(journal_dict_get(&j, DICT_API, 1), "mpi");
	assert_string_equal(journal_dict_get(&j, DICT_API, 1) + 4, "MPI_Send");
	assert_string_equal(journal_dict_get(&j, DICT_MODULE, 1), "1 2 0 -");
	assert_string_equal(journal_dict_get(&j, DICT_META, 2) + 7, "[7]");
	assert_null(journal_dict_get(&j, DICT_API, 2));
	assert_null(journal_dict_get(&j, DICT_MODULE, 2));
	assert_int_equal(journal_dict_add(&j, DICT_META, 2, "x", JOURNAL_ENTRY_MAX + 1), -EMSGSIZE);
	journal_close(&j);
}

/* Names of any length: those of modules and C++ functions have many hundred bytes. */
static void test_long_texts(void **state)
{
	char name[1200];
	const char *text[] = {"torch", "at::_ops::mm::call", name};
	struct journal j;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, MIB), 0);
	for (unsigned n = 0; n < sizeof(name); n = n < 40 ? n + 1 : 2 * n + 1) {
		const char *have;

		for (unsigned i = 0; i < n; i++)
			name[i] = (char)('a' + i % 23);
		name[n] = 0;
		assert_int_equal(
			journal_dict_add_texts(&j, DICT_API, (uint16_t)(n + 1), text, 3), 0);
		have = journal_dict_get(&j, DICT_API, (uint16_t)(n + 1));
		for (unsigned i = 0; i < 3; i++) {
			assert_string_equal(have, text[i]);
			have += strlen(have) + 1;
		}
	}
	journal_close(&j);
}

/* Modules and meta texts must leave room for functions: a function without a number cannot be recorded. */
static void test_full(void **state)
{
	static char big[1000];
	struct journal j;
	unsigned n = 0, apis = 0;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, MIB), 0);
	memset(big, 'x', sizeof(big) - 1);
	big[499] = 0; /* two strings */
	while (journal_dict_add(&j, DICT_MODULE, (uint16_t)n, big, sizeof(big)) == 0)
		n++;
	assert_true(n > 20);
	assert_int_equal(journal_dict_add(&j, DICT_MODULE, 1, big, sizeof(big)), -ENOSPC);
	while (journal_dict_add(&j, DICT_API, (uint16_t)(apis + 1),
		       "mpi\0MPI_Some_function\0all_reduce", 33) == 0)
		apis++;
	assert_true(apis > 300);
	assert_string_equal(
		journal_dict_get(&j, DICT_API, (uint16_t)apis) + 4, "MPI_Some_function");
	assert_string_equal(journal_dict_get(&j, DICT_MODULE, (uint16_t)(n - 1)), big);
	assert_true(j.head->dict_used <= j.head->dict_bytes);
	journal_close(&j);
}

/* Killed between any two stores of journal_dict_add(): what others added after it is found. */
static void test_gaps(void **state)
{
	struct journal j;
	struct dict_entry *e;
	uint64_t at = 0;
	unsigned n = 0;
	bool gap = false;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, MIB), 0);
	dict_api(&j, 1, "first");
	j.head->dict_used += 48; /* only reserved */
	dict_api(&j, 2, "second");
	e = (struct dict_entry *)((char *)j.head + j.head->dict_off + j.head->dict_used);
	j.head->dict_used +=
		64; /* its length, and half of its text, with bytes that would do as a head */
	e->bytes = 64;
	memcpy(e + 1, "\x10\0\0\0\1\0\3\0text", 12);
	dict_api(&j, 3, "third");
	assert_string_equal(journal_dict_get(&j, DICT_API, 1) + 4, "first");
	assert_string_equal(journal_dict_get(&j, DICT_API, 2) + 4, "second");
	assert_string_equal(journal_dict_get(&j, DICT_API, 3) + 4, "third");
	while (journal_dict_read_next(&j, &at, &gap))
		n++;
	assert_int_equal(n, 3);
	assert_true(gap);
	journal_close(&j);
}

/* An entry with too few strings, as a damaged journal may have it. */
static void test_too_few_strings(void **state)
{
	struct journal j;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, MIB), 0);
	assert_int_equal(journal_dict_add(&j, DICT_API, 1, "onlyonestring123", 16), 0);
	assert_int_equal(journal_dict_add(&j, DICT_API, 2, "a\0b\0c\0d", 8), 0);
	assert_null(journal_dict_get(&j, DICT_API, 1));
	assert_non_null(journal_dict_get(&j, DICT_API, 2));
	journal_close(&j);
}

/* ---- threads ---- */

#define ADDERS 6
#define EACH 300u

struct adder {
	struct journal *j;
	unsigned no;
};

static void *add(void *arg)
{
	struct adder *a = arg;
	char text[64];

	for (unsigned i = 0; i < EACH; i++) {
		int n = snprintf(text, sizeof(text), "t%u%cf%u%cop", a->no, 0, i, 0);

		assert_int_equal(journal_dict_add(a->j, DICT_API, (uint16_t)(a->no * EACH + i + 1),
					 text, (size_t)n + 1),
			0);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct adder a[ADDERS];
	pthread_t th[ADDERS];
	struct journal j;
	char want[64];
	unsigned seen = 0;

	(void)state;
	assert_int_equal(journal_create(&j, -1, NULL, 4 * MIB), 0);
	for (unsigned i = 0; i < ADDERS; i++) {
		a[i] = (struct adder){&j, i};
		assert_int_equal(pthread_create(&th[i], NULL, add, &a[i]), 0);
	}
	/* A reader at the same time sees whole entries, and in the end each. */
	while (seen < ADDERS * EACH) {
		const struct dict_entry *e;
		uint64_t at = 0;
		bool gap;

		for (seen = 0; (e = journal_dict_read_next(&j, &at, &gap)); seen++) {
			const char *s = (const char *)(e + 1);

			assert_int_equal(e->kind, DICT_API);
			snprintf(want, sizeof(want), "t%u", (e->id - 1u) / EACH);
			assert_string_equal(s, want);
			snprintf(want, sizeof(want), "f%u", (e->id - 1u) % EACH);
			assert_string_equal(s + strlen(s) + 1, want);
		}
	}
	for (unsigned i = 0; i < ADDERS; i++)
		pthread_join(th[i], NULL);
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_and_replacement),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_too_few_strings),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests_name("dict", tests, NULL, NULL);
}
