/* SPDX-License-Identifier: Apache-2.0 */
/* meta.json: always JSON (Python's parser is the judge), with everything that docs/reference/output-format.md names, from any journal. */
#include "core_helper.h"

#include <math.h>

#include "call/step.h"
#include "folder/meta.h"
#include "folder/owner.h"

#define MIB (1u << 20)

/* Runs a Python expression over the file, parsed, as `m`. */
static bool holds(const char *dir, const char *expression)
{
	char cmd[2048];

	snprintf(cmd, sizeof(cmd),
		"python3 -c 'import json, sys; m = json.load(open(sys.argv[1], "
		"encoding=\"utf-8\")); "
		"sys.exit(0 if (%s) else 1)' %s/meta.json 2>&1",
		expression, dir);
	return system(cmd) == 0;
}

#define assert_holds(r, expression)                                               \
	do {                                                                      \
		if (!holds((r)->dir, expression)) {                               \
			char *text_ = read_test_file(meta_path(r), &(size_t){0}); \
			fail_msg("not so: %s in\n%s", expression, text_);         \
		}                                                                 \
	} while (0)

static const char *meta_path(const struct rank *r)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/meta.json", r->dir);
	return path;
}

static bool python(void)
{
	return system("python3 -c 'import json'") == 0;
}

static void test_fresh(void **state)
{
	struct rank r;

	(void)state;
	if (!python())
		skip();
	rank_make(&r, MIB);
	rank_sink(&r);
	r.j.head->rank = r.j.head->world_size = -1;
	assert_int_equal(sink_write_meta(&r.sink), 0);
	assert_holds(&r,
		"m[\"format\"] == 1 and m[\"state\"] == \"running\" and m[\"rank\"] is None and "
		"m[\"world_size\"] is None and m[\"run\"] == \"\" and m[\"rows\"] == 0 and "
		"m[\"steps\"] == {\"current\": 0, \"last_recorded\": None, \"source\": \"none\", "
		"\"per_file\": 100}");
	assert_holds(&r, "m[\"owner\"][\"host\"] == \"testhost\" and set(m[\"owner\"]) == "
			 "{\"host\", \"boot_id\", \"pid_ns\", "
			 "\"pid\", \"start_time\"}");
	assert_holds(&r, "m[\"calls\"][\"dropped\"] == {\"journal_full\": 0, \"too_many_threads\": "
			 "0, \"completion\": 0, "
			 "\"stack_only\": 0, \"training_values\": 0, \"device_values\": 0} and "
			 "m[\"missing\"] == {}");
	assert_holds(&r, "m[\"first_record_ns\"] == 0 and m[\"last_record_ns\"] == 0");
	rank_drop(&r);
}

static void test_full(void **state)
{
	struct rank r;
	struct chain c, d;
	struct journal_head *h;

	(void)state;
	if (!python())
		skip();
	rank_make(&r, MIB);
	rank_sink(&r);
	h = r.j.head;
	dict_api(&r.j, 1, "f");
	assert_int_equal(chain_open(&c, &r.j, 1), 0);
	assert_int_equal(chain_open(&d, &r.j, 2), 0);
	h->clock.real_ns = UINT64_C(1700000000000000000);
	leave_call(enter_call(&c, 5, 12, 1, 0), 0);
	leave_call(enter_call(&c, 9, 11, 1, 0), 0);
	c.slot->count[JC_SEEN] = 10;
	d.slot->count[JC_SEEN] = 5;
	h->count[JC_SEEN] = 1;
	c.slot->count[JC_SKIP_STEP] = 4;
	h->count[JC_DROP_THREADS] = 3;
	d.slot->count[JC_DROP_FULL] = 2;
	c.slot->self_ticks = 500000000;
	d.slot->self_ticks = 1000000000;
	h->writer_ns = 250000000;
	h->step = 13;
	h->step_source = STEP_PCONTROL;
	h->world_size = 4;
	h->rank = 3;
	h->lost_rows = 6;
	h->removed_blocks = 7;
	h->spilled = 8;
	h->damaged = 9;
	strcpy(h->run, "4711.0");
	strcpy(h->loss[LOSS_FULL], "the journal is full");
	assert_int_equal(
		journal_dict_add(&r.j, DICT_META, META_CONFIG, "config\0{\"eps\": 1e-8}", 21), 0);
	assert_int_equal(
		journal_dict_add(&r.j, DICT_META, META_PROGRAM, "program\0[\"a\"]", 14), 0);
	assert_int_equal(drain_all(&r.drain, false), 0);
	assert_int_equal(sink_write_meta(&r.sink), 0);
	assert_holds(&r,
		"m[\"calls\"][\"seen\"] == 16 and m[\"calls\"][\"skipped\"][\"step\"] == 4 and "
		"m[\"calls\"][\"dropped\"][\"too_many_threads\"] == 3 and "
		"m[\"calls\"][\"dropped\"][\"journal_full\"] == 2");
	assert_holds(&r, "m[\"own_time\"] == {\"in_calls_s\": 1.5, \"writer_s\": 0.25}");
	assert_holds(&r,
		"m[\"rows\"] == 2 and m[\"lost_rows\"] == 6 and m[\"removed_blocks\"] == 7 and "
		"m[\"journal\"][\"outside\"] == 8 and m[\"journal\"][\"damaged\"] == 9 and "
		"m[\"journal\"][\"crash_safe\"] is True and m[\"journal\"][\"bytes\"] == 1048576");
	assert_holds(&r, "m[\"steps\"] == {\"current\": 13, \"last_recorded\": 12, \"source\": "
			 "\"pcontrol\", \"per_file\": 100}");
	assert_holds(&r, "m[\"first_record_ns\"] == 1700000000000001005 and m[\"last_record_ns\"] "
			 "== 1700000000000001014");
	assert_holds(&r, "m[\"config\"] == {\"eps\": 1e-8} and m[\"program\"] == [\"a\"] and "
			 "m[\"run\"] == \"4711.0\" and "
			 "m[\"rank\"] == 3 and m[\"world_size\"] == 4 and m[\"missing\"] == "
			 "{\"journal_full\": \"the journal is full\"}");
	assert_holds(&r, "m[\"clock\"][\"first\"][\"real_ns\"] == 1700000000000000000");
	h->state = JS_FINISHED;
	assert_int_equal(sink_write_meta(&r.sink), 0);
	assert_holds(&r, "m[\"state\"] == \"finished\"");
	h->state = JS_RECOVERED;
	assert_int_equal(sink_write_meta(&r.sink), 0);
	assert_holds(&r, "m[\"state\"] == \"recovered\"");
	assert_int_equal(count_files(r.dir, "meta.json"), 1);
	rank_drop(&r);
}

/* Paths, names and messages with anything in them, all as long as can be. */
static void test_any_text(void **state)
{
	static char part[JOURNAL_ENTRY_MAX];
	struct rank r;
	struct journal_head *h;

	(void)state;
	if (!python())
		skip();
	rank_make(&r, MIB);
	rank_sink(&r);
	h = r.j.head;
	memset(h->journal_path, 1, sizeof(h->journal_path) - 1);
	memset(h->run, '"', sizeof(h->run) - 1);
	memset(h->owner.host, '\\', sizeof(h->owner.host) - 1);
	memset(h->owner.boot_id, 0xff, sizeof(h->owner.boot_id) - 1);
	for (int i = 0; i < LOSS_COUNT; i++)
		memset(h->loss[i], '\n', LOSS_TEXT_MAX - 1);
	for (uint16_t p = 1; p < META_PARTS; p++) {
		memset(part, ' ', sizeof(part));
		memcpy(part, "k\"y\0[", 5);
		part[1] = (char)('a' + p);
		part[sizeof(part) - 2] = ']';
		part[sizeof(part) - 1] = 0;
		if (p < 3)
			assert_int_equal(
				journal_dict_add(&r.j, DICT_META, p, part, sizeof(part)), 0);
	}
	assert_int_equal(sink_write_meta(&r.sink), 0);
	char all[200];

	snprintf(all, sizeof(all),
		"m[\"run\"] == chr(34) * 127 and m[\"owner\"][\"host\"] == chr(92) * 71 and "
		"len(m[\"journal_path\"]) == 4095 and len(m[\"missing\"]) == %d and m[\"kby\"] == "
		"[]",
		LOSS_COUNT);
	assert_holds(&r, all);
	rank_drop(&r);
}

/* A part that is no JSON, as a damaged journal may have it, is skipped. */
static void test_damaged_part(void **state)
{
	struct rank r;

	(void)state;
	if (!python())
		skip();
	rank_make(&r, MIB);
	rank_sink(&r);
	assert_int_equal(
		journal_dict_add(&r.j, DICT_META, META_CONFIG, "config\0{\"eps\": 1e-8", 20), 0);
	assert_int_equal(
		journal_dict_add(&r.j, DICT_META, META_PROGRAM, "program\0[\"a\"]", 14), 0);
	r.j.head->state = 77;
	r.j.head->step_source = 99;
	assert_int_equal(sink_write_meta(&r.sink), 0);
	assert_holds(&r, "\"config\" not in m and m[\"program\"] == [\"a\"]");
	rank_drop(&r);
}

/* Owner and state are read back from the beginning of the text. */
static void test_read_back(void **state)
{
	struct rank r;
	struct journal_owner o;
	char value[4096];
	size_t n;

	(void)state;
	rank_make(&r, MIB);
	rank_sink(&r);
	strcpy(r.j.head->journal_path, "/a \"b\"\\c/journal.bin");
	r.j.head->owner = (struct journal_owner){
		.host = "h \"x\"", .boot_id = "b-1", .pid_ns = 5, .pid = 6, .start_time = 7};
	assert_int_equal(sink_write_meta(&r.sink), 0);

	char *text = read_test_file(meta_path(&r), &n);

	assert_int_equal(owner_parse(text, &o), 0);
	assert_true(owner_same(&o, &r.j.head->owner));
	meta_string(text, "journal_path", value, sizeof(value));
	assert_string_equal(value, r.j.head->journal_path);
	meta_string(text, "state", value, sizeof(value));
	assert_string_equal(value, "running");
	meta_string(text, "nothing", value, sizeof(value));
	assert_string_equal(value, "");
	meta_string(text, "journal_path", value, 5);
	assert_string_equal(value, "/a \"");
	/* Cut anywhere: an error or the truth. */
	for (size_t cut = n; cut--;) {
		text[cut] = 0;
		if (owner_parse(text, &o) == 0 && o.start_time)
			assert_true(o.pid == 6 && o.start_time == 7 && o.pid_ns == 5);
	}
	free(text);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fresh),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_any_text),
		cmocka_unit_test(test_damaged_part),
		cmocka_unit_test(test_read_back),
	};

	return cmocka_run_group_tests_name("meta", tests, NULL, NULL);
}
