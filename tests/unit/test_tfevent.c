/* SPDX-License-Identifier: Apache-2.0 */
/* Events in their frames, against bytes that tensorboardX 2.6.5 wrote; and what is found of a file that was cut off. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/tensorboard/tfevent.h"

/* wall time 1795316090.25, as in files of MindSpore Transformers 2.1.0 */
static const unsigned char version[] = {
	0x18,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0xa3,
	0x7f,
	0x4b,
	0x22,
	0x09,
	0x00,
	0x00,
	0x90,
	0x5e,
	0x96,
	0xc0,
	0xda,
	0x41,
	0x1a,
	0x0d,
	0x62,
	0x72,
	0x61,
	0x69,
	0x6e,
	0x2e,
	0x45,
	0x76,
	0x65,
	0x6e,
	0x74,
	0x3a,
	0x32,
	0xc5,
	0x53,
	0x2d,
	0xc7,
};
static const unsigned char loss[] = {
	0x1b,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x1a,
	0x0d,
	0x9e,
	0x13,
	0x09,
	0x00,
	0x00,
	0x90,
	0x5e,
	0x96,
	0xc0,
	0xda,
	0x41,
	0x10,
	0xac,
	0x02,
	0x2a,
	0x0d,
	0x0a,
	0x0b,
	0x0a,
	0x04,
	0x6c,
	0x6f,
	0x73,
	0x73,
	0x15,
	0x00,
	0x00,
	0xc0,
	0x3f,
	0xc3,
	0xd0,
	0x63,
	0x94,
};
static const unsigned char text[] = {
	0x39,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x00,
	0x8b,
	0x07,
	0x37,
	0xf1,
	0x09,
	0x00,
	0x00,
	0x90,
	0x5e,
	0x96,
	0xc0,
	0xda,
	0x41,
	0x10,
	0x01,
	0x2a,
	0x2c,
	0x0a,
	0x2a,
	0x0a,
	0x11,
	0x73,
	0x65,
	0x65,
	0x64,
	0x2f,
	0x74,
	0x65,
	0x78,
	0x74,
	0x5f,
	0x73,
	0x75,
	0x6d,
	0x6d,
	0x61,
	0x72,
	0x79,
	0x42,
	0x0b,
	0x08,
	0x07,
	0x12,
	0x04,
	0x12,
	0x02,
	0x08,
	0x01,
	0x42,
	0x01,
	0x30,
	0x4a,
	0x08,
	0x0a,
	0x06,
	0x0a,
	0x04,
	0x74,
	0x65,
	0x78,
	0x74,
	0xaa,
	0x7b,
	0x8c,
	0xe0,
};

#define WALL 1795316090.25

static void assert_events(const struct tfevents *e, const unsigned char *want, size_t n)
{
	assert_false(e->failed);
	assert_int_equal(e->len, n);
	assert_memory_equal(e->at, want, n);
}

static void test_event_bytes(void **state)
{
	struct tfevents e = {0};

	(void)state;
	tfevent_write_version(&e, WALL);
	assert_events(&e, version, sizeof(version));
	e.len = 0;
	tfevent_write_scalar(&e, WALL, 300, "loss", 1.5f);
	assert_events(&e, loss, sizeof(loss));
	tfevents_free(&e);
}

/* The order of fields is free: tensor and metadata stand as they do there. */
static void test_event_text(void **state)
{
	struct tfevents e = {0};

	(void)state;
	tfevent_write_text(&e, WALL, 1, "seed/text_summary", "0", 1);
	assert_int_equal(e.len, sizeof(text));
	assert_int_equal(tfevents_measure_whole(e.at, e.len), e.len);
	tfevents_free(&e);
}

static void test_event_cut_off(void **state)
{
	struct tfevents e = {0};
	size_t first;

	(void)state;
	tfevent_write_version(&e, WALL);
	first = e.len;
	tfevent_write_scalar(&e, WALL, 1, "a", 1);
	for (size_t n = 0; n < e.len; n++)
		assert_int_equal(tfevents_measure_whole(e.at, n), n < first ? 0 : first);
	assert_int_equal(tfevents_measure_whole(e.at, e.len), e.len);
	e.at[first + 14] ^= 1;
	assert_int_equal(tfevents_measure_whole(e.at, e.len), first);
	tfevents_free(&e);
}

/* An entry without room is dropped, and the next one is complete. */
static void test_event_without_room(void **state)
{
	struct tfevents e = {.max = 64};
	char tag[100];

	(void)state;
	memset(tag, 'x', sizeof(tag));
	tag[sizeof(tag) - 1] = 0;
	tfevent_write_version(&e, WALL);
	assert_false(e.failed);
	tfevent_write_scalar(&e, WALL, 1, tag, 1);
	assert_true(e.failed);
	assert_memory_equal(e.at, version, sizeof(version));
	assert_int_equal(e.len, sizeof(version));
	e.failed = false;
	e.len = 0;
	tfevent_write_scalar(&e, WALL, 300, "loss", 1.5f);
	assert_events(&e, loss, sizeof(loss));
	tfevents_free(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_bytes),
		cmocka_unit_test(test_event_text),
		cmocka_unit_test(test_event_cut_off),
		cmocka_unit_test(test_event_without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
