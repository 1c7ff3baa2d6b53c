/* SPDX-License-Identifier: Apache-2.0 */
/* Which folders are one run, which are not used, and why. */
#include "core_helper.h"
#include "run_helper.h"

#include "journal/meta_part.h"
#include "journal/step_name.h"
#include "tools/probe/model/read/folders.h"
#include "tools/lib/tool.h"

static struct folders f;

static int opened(const char *path)
{
	return folders_open(&f, path);
}

static void expect_run(const char *path, const char *ranks)
{
	char have[256] = "";

	assert_int_equal(opened(path), 0);
	for (unsigned i = 0; i < f.n; i++)
		sprintf(have + strlen(have), "%s%s", i ? " " : "", f.dir[i].name);
	assert_string_equal(have, ranks);
}

static void expect(const char *ranks)
{
	expect_run(top, ranks);
}

static const char *why(const char *name)
{
	for (unsigned i = 0; i < f.nout; i++)
		if (strcmp(f.out[i].name, name) == 0)
			return f.out[i].why;
	return "it was not skipped";
}

static int empty(void **state)
{
	return make_top(state);
}

static int done(void **state)
{
	folders_close(&f);
	return remove_top(state);
}

/* rank, world_size, first and last record, and more members. */
#define M(r, w, from, to, ...) \
	((struct run_meta){.rank = r, .world = w, .first = from, .last = to, __VA_ARGS__})

static void one_run(void **state)
{
	(void)state;
	put_run_meta("rank10", M(10, 4, 150, 300));
	put_run_meta("rank2", M(2, 4, 120, 200));
	put_run_meta("rank0", M(0, 4, 100, 200));
	put_run_meta("rank0.1", M(0, 4, 100, 200));
	put_run_meta("rank0.12", M(0, 4, 100, 200));
	put_run_meta("rank0-pid55", M(0, 4, 100, 200));
	put_run_meta("host-vm-pid9", M(-1, 4, 100, 200));
	fclose(create("rank", "x"));
	fclose(create("rank1x", "x"));
	fclose(create("rank01", "x"));
	fclose(create("other", "x"));
	expect("rank0 rank2 rank10");
	assert_int_equal(f.world_size, 4);
	assert_int_equal(f.nout, 4);
	assert_non_null(strstr(why("rank0.1"), "earlier run"));
	assert_non_null(strstr(why("rank0.12"), "earlier run"));
	assert_non_null(strstr(why("rank0-pid55"), "second process"));
	assert_non_null(strstr(why("host-vm-pid9"), "never became known"));
}

/* A smaller job in the same place leaves the higher ranks of the earlier one. */
static void newest_of_two(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[16];

		sprintf(name, "rank%d", i);
		put_run_meta(name, i < 2 ? M(i, 2, 1000, 1100) : M(i, 4, 100, 200));
	}
	expect("rank0 rank1");
	assert_non_null(strstr(why("rank3"), "world_size 4"));
}

static void two_sizes_at_once(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 2, 100, 500));
	put_run_meta("rank1", M(1, 4, 110, 500));
	put_run_meta("rank2", M(2, 2, 120, 500));
	put_run_meta("rank3", M(3, 4, 130, 500));
	expect("rank1 rank3");
}

static void same_size_by_time(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 4, 1000, 2000));
	put_run_meta("rank1", M(1, 4, 1990, 3000)); /* through rank 0 */
	put_run_meta("rank2", M(2, 4, 2500, 2600));
	put_run_meta("rank3", M(3, 4, 100, 999));
	expect("rank0 rank1 rank2");
	assert_non_null(strstr(why("rank3"), "earlier run"));
}

static void job_ids(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 4, 100, 900, .run = "7.0"));
	put_run_meta("rank1", M(1, 4, 100, 900, .run = "7.0"));
	put_run_meta("rank2", M(2, 4, 500, 600, .run = "8.0"));
	expect("rank2");
	assert_string_equal(f.run, "8.0");
	assert_non_null(strstr(why("rank0"), "another run (7.0)"));
}

/* Ranks 1 and 2 have given up and are gone when rank 0 makes its first call: all three processes were there at once. */
static void late_rank_belongs_to_the_others(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 3, 1200, 1300, .start = 100, .end = 1310, .clock_first = 1200,
				      .clock_last = 1310));
	put_run_meta("rank1", M(1, 3, 200, 1000, .start = 101, .end = 1010, .clock_first = 200,
				      .clock_last = 1010));
	put_run_meta("rank2", M(2, 3, 200, 1000, .start = 102, .end = 1010, .clock_first = 200,
				      .clock_last = 1010));
	expect("rank0 rank1 rank2");
	assert_int_equal(f.nout, 0);
}

/* A process lives on after its last record: what began meanwhile is of its run. */
static void a_process_lives_until_its_end(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 2, 200, 300, .start = 100, .end = 900));
	put_run_meta("rank1", M(1, 2, 850, 950, .start = 800, .end = 960));
	expect("rank0 rank1");
}

/* With the launcher's id a rank may come when all others are gone; without it that is another run. */
static void job_id_needs_no_overlap(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 2, 1200, 1300, .start = 1100, .run = "7.0"));
	put_run_meta("rank1", M(1, 2, 200, 1000, .start = 100, .run = "7.0"));
	expect("rank0 rank1");
	put_run_meta("rank0", M(0, 2, 1200, 1300, .start = 1100));
	put_run_meta("rank1", M(1, 2, 200, 1000, .start = 100));
	folders_close(&f);
	expect("rank0");
	assert_non_null(strstr(why("rank1"), "earlier run"));
}

/* The old processes may live on for a while when the launcher has started the next attempt. */
static void attempts_never_merge(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 3, 1200, 1300, .start = 1100, .run = "7.0", .attempt = "1"));
	put_run_meta("rank1", M(1, 3, 1200, 1300, .start = 1100, .run = "7.0", .attempt = "1"));
	put_run_meta("rank2", M(2, 3, 200, 1250, .start = 100, .run = "7.0", .attempt = "0"));
	expect("rank0 rank1");
	assert_non_null(strstr(why("rank2"), "another attempt of the job (0, not 1)"));
	/* The next one has another number of ranks. */
	put_run_meta("rank0", M(0, 2, 2200, 2300, .start = 2100, .run = "7.0", .attempt = "2"));
	put_run_meta("rank1", M(1, 2, 2200, 2300, .start = 2100, .run = "7.0", .attempt = "2"));
	folders_close(&f);
	expect("rank0 rank1");
	assert_int_equal(f.world_size, 2);
}

/* A rank without any record lived from its first look at the clock to its last drain. */
static void without_records(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 4, 100, 200));
	put_run_meta("rank1", M(1, 4, 0, 0, .clock_first = 90, .clock_last = 110));
	expect("rank0 rank1");
}

/* It lives until now, whenever it last wrote: a rank that began after that belongs to it. */
static void running(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 4, 0, 0, .state = "running", .mine = true, .clock_first = 100,
				      .clock_last = 100));
	put_run_meta("rank1", M(1, 4, 0, 0, .state = "running", .mine = true, .clock_first = 150,
				      .clock_last = 150));
	expect("rank0 rank1");
	assert_int_equal(f.dir[0].state, RANK_RUNNING);
}

/* A killed rank's journal that was never drained, with a call of 500 to 600; ticks are ns since the epoch. */
static void put_journal(const char *folder, bool inside)
{
	char path[256];
	struct journal j;
	struct chain c = {0};
	struct journal_call *call;
	int dir;

	snprintf(path, sizeof(path), "%s/%s", top, folder);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(journal_create(&j, dir, "journal.bin", 1 << 20), 0);
	fill_test_head(j.head);
	j.head->clock.real_ns = j.head->clock_last.real_ns = 100;
	j.head->clock.tick = j.head->clock_last.tick = 100;
	j.head->owner = (struct journal_owner){
		.host = "a", .boot_id = "b", .pid_ns = 1, .pid = 1, .start_time = 1};
	assert_int_equal(chain_open(&c, &j, 1), 0);
	call = enter_call(&c, 1, 0, 0, 0);
	assert_non_null(call);
	call->start = 500;
	if (!inside) {
		call->end = 600;
		atomic_store(&call->e.state, JCS_CLOSED);
	}
	journal_close(&j);
	close(dir);
}

/* On a busy machine the writer may not have come to its first drain: the journal itself says how long the rank lived. */
static void not_drained(void **state)
{
	(void)state;
	put_run_meta(
		"rank0", M(0, 4, 0, 0, .state = "running", .clock_first = 100, .clock_last = 100));
	put_journal("rank0", false);
	put_run_meta("rank1", M(1, 4, 550, 900));
	put_run_meta(
		"rank2", M(2, 4, 0, 0, .state = "running", .clock_first = 100, .clock_last = 100));
	put_journal("rank2", true);
	put_run_meta("rank3", M(3, 4, 450, 900));
	expect("rank0 rank1 rank2 rank3");
	assert_int_equal(f.dir[0].last_ns, 600);
	assert_int_equal(f.dir[2].last_ns, 500);
}

/* A rank that died in its first second has no attempt and no steps in its meta.json: the journal has both. */
static void died_in_its_first_second(void **state)
{
	static const char attempt[] = "attempt\0\"1\"", start[] = "process_start_ns\0"
								  "440";
	struct journal j;
	char path[256];

	(void)state;
	put_run_meta("rank0", M(0, 2, 0, 0, .run = "7.0", .state = "running", .clock_first = 100,
				      .clock_last = 100));
	put_journal("rank0", false);
	put_run_meta("rank1", M(1, 2, 550, 900, .start = 450, .run = "7.0", .attempt = "1"));
	expect("rank1");
	snprintf(path, sizeof(path), "%s/rank0/journal.bin", top);
	assert_int_equal(journal_open(&j, AT_FDCWD, path, false), 0);
	assert_int_equal(
		journal_dict_add(&j, DICT_META, META_ATTEMPT, attempt, sizeof(attempt)), 0);
	assert_int_equal(
		journal_dict_add(&j, DICT_META, META_PROCESS_START, start, sizeof(start)), 0);
	atomic_store(&j.head->step_source, STEP_OPTIMIZER);
	journal_close(&j);
	folders_close(&f);
	expect("rank0 rank1");
	assert_string_equal(f.dir[0].meta.attempt, "1");
	assert_int_equal(f.dir[0].meta.process_start_ns, 440);
	assert_true(meta_has_steps(&f.dir[0].meta));
}

/* Its process ended, and its journal's contents are not in the files yet (a full disk, a busy machine). */
static void ended_not_written(void **state)
{
	struct journal j;
	char path[256];

	(void)state;
	put_run_meta(
		"rank0", M(0, 4, 0, 0, .state = "running", .clock_first = 100, .clock_last = 100));
	put_journal("rank0", false);
	put_run_meta(
		"rank1", M(1, 4, 0, 0, .state = "running", .clock_first = 100, .clock_last = 100));
	put_journal("rank1", false);
	snprintf(path, sizeof(path), "%s/rank1/journal.bin", top);
	assert_int_equal(journal_open(&j, AT_FDCWD, path, false), 0);
	atomic_store(&j.head->state, JS_FINISHED);
	journal_close(&j);
	expect("rank0 rank1");
	/* This one runs on another host, as far as can be seen. */
	assert_int_equal(f.dir[0].state, RANK_UNSEEN);
	assert_int_equal(f.dir[1].state, RANK_UNWRITTEN);
	assert_string_equal(rank_state_get_name(f.dir[1].state), "ended, not written yet");
}

/* A rank's life begins with its process, not with its first record: another one's may be over by then. */
static void late_first_record(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 4, 110, 200, .clock_first = 100, .clock_last = 1000));
	put_run_meta("rank1", M(1, 4, 800, 900, .clock_first = 105, .clock_last = 1000));
	expect("rank0 rank1");
}

static void unreadable_meta(void **state)
{
	FILE *file;

	(void)state;
	put_run_meta("rank0", M(0, 4, 100, 200));
	file = create("rank1", "meta.json");
	fputs("{\"state\": ", file);
	fclose(file);
	fclose(create("rank2", "calls_0-99.csv"));
	expect("rank0");
	assert_non_null(strstr(why("rank1"), "meta.json: a value is missing, at byte 10"));
	assert_non_null(strstr(why("rank2"), "No such file"));
}

static void no_meta_at_all(void **state)
{
	(void)state;
	fclose(create("rank0", "calls_0-99.csv"));
	fclose(create("rank1", "calls_0-99.csv"));
	expect("rank0 rank1");
	assert_int_equal(f.dir[0].state, RANK_KILLED);
	assert_int_equal(f.dir[1].rank, 1);
}

/* The disk was full: the folder could be made, but not even meta.json could be written. */
static void empty_folder_is_no_killed_rank(void **state)
{
	char path[128];

	(void)state;
	put_run_meta("rank0", M(0, 4, 100, 200));
	snprintf(path, sizeof(path), "%s/rank1", top);
	assert_int_equal(mkdir(path, 0700), 0);
	expect("rank0");
	assert_non_null(strstr(why("rank1"), "it is empty"));
	assert_int_equal(f.out[0].rank, 1);
}

static void only_empty_folders_are_no_run(void **state)
{
	char path[128];

	(void)state;
	for (int rank = 0; rank < 2; rank++) {
		snprintf(path, sizeof(path), "%s/rank%d", top, rank);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	assert_int_equal(opened(top), STATUS_USAGE);
	assert_int_equal(f.n, 0);
}

/* Its path shows nothing more, so the message must not advise to give it. */
static void an_empty_folder_is_marked_also_without_a_rank(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/host-vm-pid9", top);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(opened(top), STATUS_USAGE);
	assert_int_equal(f.nout, 1);
	assert_true(f.out[0].empty);
	put_run_meta("rank0.1", M(0, 4, 100, 200));
	assert_int_equal(rmdir(path), 0);
	folders_close(&f);
	assert_int_equal(opened(top), STATUS_USAGE);
	assert_int_equal(f.nout, 1);
	assert_false(f.out[0].empty);
}

/* A program without ranks leaves only such a folder. */
static void only_host(void **state)
{
	(void)state;
	put_run_meta("host-vm-pid9", M(-1, -1, 100, 200));
	put_run_meta("host-vm-pid8", M(-1, -1, 10, 20));
	expect("host-vm-pid9");
	assert_int_equal(f.dir[0].rank, -1);
	assert_non_null(strstr(why("host-vm-pid8"), "earlier run"));
}

static void one_folder_by_path(void **state)
{
	char path[128];

	(void)state;
	put_run_meta("rank3.1", M(3, 4, 100, 200));
	snprintf(path, sizeof(path), "%s/rank3.1/", top);
	assert_int_equal(opened(path), 0);
	assert_true(f.single);
	assert_int_equal(f.n, 1);
	assert_int_equal(f.dir[0].rank, 3);
	assert_string_equal(f.dir[0].name, "rank3.1");
	assert_string_equal(f.dir[0].label, "rank 3");
}

/* TOP@1 is the run before the newest one, TOP@2 the one before that. */
static void an_earlier_run_is_counted_from_the_newest(void **state)
{
	(void)state;
	char before[320], oldest[320], more[320];

	snprintf(before, sizeof(before), "%s@1", top);
	snprintf(oldest, sizeof(oldest), "%s/@2", top);
	snprintf(more, sizeof(more), "%s@3", top);
	put_run_meta("rank0.1", M(0, 2, 100, 200));
	put_run_meta("rank1.1", M(1, 2, 110, 200));
	/* Two ranks before, four then: only two of its folders had to be renamed. */
	put_run_meta("rank0.2", M(0, 4, 300, 400));
	put_run_meta("rank1.2", M(1, 4, 310, 400));
	put_run_meta("rank2", M(2, 4, 320, 400));
	put_run_meta("rank3", M(3, 4, 320, 400));
	put_run_meta("rank0", M(0, 2, 500, 600));
	put_run_meta("rank1", M(1, 2, 510, 600));
	expect("rank0 rank1");
	assert_non_null(strstr(why("rank0.1"), before));
	folders_close(&f);
	expect_run(before, "rank0.2 rank1.2 rank2 rank3");
	assert_string_equal(f.path, before);
	assert_string_equal(f.folder, top);
	assert_int_equal(f.world_size, 4);
	folders_close(&f);
	expect_run(oldest, "rank0.1 rank1.1");
	assert_non_null(strstr(why("rank0"), "a later run"));
	folders_close(&f);
	assert_int_equal(opened(more), STATUS_USAGE);
}

/* A rank of the earlier run that lives on while the next one begins is not taken into that one. */
static void runs_that_overlap_are_parted_by_their_ranks(void **state)
{
	(void)state;
	char before[320];

	snprintf(before, sizeof(before), "%s@1", top);
	put_run_meta("rank0.1", M(0, 2, 100, 200));
	put_run_meta("rank1.1", M(1, 2, 110, 900));
	put_run_meta("rank0", M(0, 2, 500, 600));
	put_run_meta("rank1", M(1, 2, 510, 600));
	expect("rank0 rank1");
	folders_close(&f);
	expect_run(before, "rank0.1 rank1.1");
}

static void a_folder_whose_name_ends_like_a_count_is_read_itself(void **state)
{
	(void)state;
	char own[320];

	put_run_meta("rank0", M(0, 1, 100, 200));
	snprintf(own, sizeof(own), "%s/run@1", top);
	assert_int_equal(mkdir(own, 0755), 0);
	put_run_meta("run@1/rank3", M(3, 4, 100, 200));
	expect_run(own, "rank3");
	assert_int_equal(f.earlier, 0);
}

static void a_count_after_one_ranks_folder_is_refused(void **state)
{
	(void)state;
	char one[320];

	put_run_meta("rank0", M(0, 1, 100, 200));
	snprintf(one, sizeof(one), "%s/rank0@1", top);
	assert_int_equal(opened(one), STATUS_USAGE);
}

static void states(void **state)
{
	(void)state;
	put_run_meta("rank0", M(0, 4, 100, 200));
	put_run_meta("rank1", M(1, 4, 100, 200, .state = "recovered"));
	put_run_meta("rank2", M(2, 4, 100, 200, .state = "running", .host = "elsewhere"));
	expect("rank0 rank1 rank2");
	assert_int_equal(f.dir[0].state, RANK_FINISHED);
	assert_int_equal(f.dir[1].state, RANK_RECOVERED);
	assert_int_equal(f.dir[2].state, RANK_UNSEEN);
}

static void nothing(void **state)
{
	(void)state;
	assert_int_equal(opened(top), STATUS_USAGE);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, empty, done)
	const struct CMUnitTest tests[] = {
		T(one_run),
		T(newest_of_two),
		T(two_sizes_at_once),
		T(same_size_by_time),
		T(job_ids),
		T(late_rank_belongs_to_the_others),
		T(a_process_lives_until_its_end),
		T(job_id_needs_no_overlap),
		T(attempts_never_merge),
		T(died_in_its_first_second),
		T(without_records),
		T(running),
		T(not_drained),
		T(late_first_record),
		T(ended_not_written),
		T(unreadable_meta),
		T(no_meta_at_all),
		T(empty_folder_is_no_killed_rank),
		T(only_empty_folders_are_no_run),
		T(an_empty_folder_is_marked_also_without_a_rank),
		T(only_host),
		T(one_folder_by_path),
		T(an_earlier_run_is_counted_from_the_newest),
		T(runs_that_overlap_are_parted_by_their_ranks),
		T(a_folder_whose_name_ends_like_a_count_is_read_itself),
		T(a_count_after_one_ranks_folder_is_refused),
		T(states),
		T(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
