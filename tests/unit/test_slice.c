/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of tensors: words of key slice, and elements that msprobe's rule takes, picked one by one here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call/data/operation.h"
#include "call/data/slice.h"
#include "config/config.h"
#include "config/slice_item.h"
#include "buffer_helper.h"

static void words_are_parsed(void **state)
{
	static const struct {
		const char *word;
		struct slice_item want;
	} right[] = {
		{"0:1:3", {0, 1, 3, SLICE_ANY_SIZE}},
		{"::", {0, 0, SLICE_TO_END, SLICE_ANY_SIZE}},
		{"2:-16::128", {2, -16, SLICE_TO_END, 128}},
		{":0:0:0", {0, 0, 0, 0}},
	};
	static const char *const wrong[] = {"", "1", "0:1", "-1:0:1", "0:0:1:-2", "0:a:1",
		"0:1:2:3:4", "0: 1:2", "0:+1:2", "0:1:99999999999999999999", "0:-:1"};
	struct slice_item item;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
		assert_null(slice_item_parse(right[i].word, strlen(right[i].word), &item));
		assert_memory_equal(&item, &right[i].want, sizeof(item));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_non_null(slice_item_parse(wrong[i], strlen(wrong[i]), &item));
}

static void set_words(struct config *cfg, char *words)
{
	memset(cfg, 0, sizeof(*cfg));
	cfg->slice = words;
	assert_int_equal(slice_load(cfg), 0);
}

static bool is_taken(int64_t i, int64_t n, int64_t begin, int64_t end)
{
	int64_t b = begin < 0 ? begin + n : begin, e = end < 0 ? end + n : end;

	return i >= (b < 0 ? 0 : b) && i < e;
}

/* A matrix of 5 x 7, stored by columns, so that strides are 1 and 5. */
static void parts_have_the_elements_of_the_rule(void **state)
{
	static const struct {
		char words[40];
		int64_t begin[2], end[2];
	} cases[] = {
		{"0:1:3", {1, 0}, {3, 7}}, {"1:-2:", {0, -2}, {5, 7}},
		{"0:0:1\n1:2:4\n0:3:9", {3, 2}, {9, 4}}, /* the last of a dimension holds */
		{"0:0:2:5\n1:0:2:5", {0, 0}, {2, 7}}, /* only of the size that is given */
		{"0:-9:-4", {-9, 0}, {-4, 7}}, {"0:4:2", {4, 0}, {2, 7}}, /* nothing is left */
	};
	int64_t size[] = {5, 7}, stride[] = {1, 5};
	float at[35];

	(void)state;
	for (int i = 0; i < 35; i++)
		at[i] = (float)i;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		struct buffer v = make_tensor(at, DT_FLOAT32, 2, size, stride);
		struct operation w = {0};
		struct buffer_part part;
		struct config cfg;
		const struct buffer *p;
		unsigned n = 0;

		set_words(&cfg, (char *)cases[c].words);
		w.slicing = slicing_get();
		p = slice_get_part(&w, &v, &part);
		assert_ptr_not_equal(p, &v);
		for (int64_t j = 0; j < 7; j++)
			for (int64_t i = 0; i < 5; i++) {
				const int64_t *s = p->counts, *step = p->displs;
				int64_t k;

				if (!is_taken(i, 5, cases[c].begin[0], cases[c].end[0]) ||
					!is_taken(j, 7, cases[c].begin[1], cases[c].end[1]))
					continue;
				k = n++;
				assert_true(((const float *)p->base)[k % s[0] * step[0] +
								     k / s[0] * step[1]] ==
					    at[i + 5 * j]);
			}
		assert_int_equal(p->count, n);
		assert_int_equal(p->bytes, 4 * n);
	}
}

static void what_does_not_fit_stays_whole(void **state)
{
	int64_t size[] = {4}, stride[] = {1};
	float at[4] = {0};
	struct buffer v = make_tensor(at, DT_FLOAT32, 1, size, stride);
	struct buffer flat = {.base = at, .count = 4, .bytes = 16, .dtype = DT_FLOAT32};
	struct operation w = {0};
	struct buffer_part part;
	struct config cfg;

	(void)state;
	set_words(&cfg, (char *)"1:0:1\n0:0:1:5");
	w.slicing = slicing_get();
	assert_ptr_equal(slice_get_part(&w, &v, &part), &v);
	assert_ptr_equal(slice_get_part(&w, &flat, &part), &flat);
	set_words(&cfg, (char *)"");
	w.slicing = slicing_get();
	assert_false(is_sliced(&w.slicing));
	assert_ptr_equal(slice_get_part(&w, &v, &part), &v);
}

static void a_request_is_the_last_word(void **state)
{
	int64_t size[] = {8}, stride[] = {1};
	float at[8] = {0};
	struct buffer v = make_tensor(at, DT_FLOAT32, 1, size, stride);
	struct operation w = {0};
	struct buffer_part part;
	struct config cfg;
	const struct buffer *p;

	(void)state;
	set_words(&cfg, (char *)"0:0:1");
	assert_true(slice_set_request(8, 3, 7));
	w.slicing = slicing_get();
	p = slice_get_part(&w, &v, &part);
	assert_int_equal(p->count, 4);
	assert_ptr_equal(p->base, at + 3);
	assert_true(slice_set_request(9, 3, 7)); /* a batch of another size: key slice remains */
	w.slicing = slicing_get();
	assert_int_equal(slice_get_part(&w, &v, &part)->count, 1);
	assert_false(slice_set_request(8, 5, 3)); /* the end is before the beginning */
	assert_false(slice_is_request_absent());
	slice_set_request_state(REQUEST_ABSENT);
	assert_true(slice_is_request_absent());
	assert_false(slice_set_request(UINT64_C(1) << 20, 0, 1)); /* does not fit */
	assert_false(slice_is_request_absent());
	set_words(&cfg, (char *)"");
	w.slicing = slicing_get();
	assert_ptr_equal(slice_get_part(&w, &v, &part), &v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_parsed),
		cmocka_unit_test(parts_have_the_elements_of_the_rule),
		cmocka_unit_test(what_does_not_fit_stays_whole),
		cmocka_unit_test(a_request_is_the_last_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
