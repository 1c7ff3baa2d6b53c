/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose monitors write into one folder: none takes what a living one has, and what was left is gone on in. */
#include "core_helper.h"

#include <signal.h>
#include <sys/wait.h>

#include "base/io.h"
#include "config/config.h"
#include "terms/train_kind.h"
#include "formats/monitor/monitor_folder.h"
#include "formats/monitor/monitor_owner.h"
#include "folder/owner.h"

static char shared[64]; /* the folder of all monitors */

static char nowhere[] = "/nonexistent", maximum[] = "max", any_time[] = "", no_alerts[] = "";

struct job {
	struct rank r;
	struct config cfg;
	struct chain c;
	pid_t pid; /* of who stands for it: 0: this process */
};

/* A process that maps the journal, as one that records does. */
static void start_recorded_process(struct job *job)
{
	int told[2];

	assert_int_equal(pipe(told), 0);
	job->pid = fork();
	if (job->pid == 0) {
		struct journal_owner o;

		owner_self(&o);
		alarm(60);
		if (write(told[1], &o, sizeof(o)) != sizeof(o))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(told[0], &job->r.j.head->owner, sizeof(struct journal_owner)),
		sizeof(struct journal_owner));
	close(told[0]);
	close(told[1]);
}

static void start_job(struct job *job, enum config_monitor_layout layout, bool append, bool another)
{
	static unsigned second;
	struct journal_head *h;

	*job = (struct job){.cfg = {.output_dir = nowhere,
				    .monitor_dir = shared,
				    .monitor_layout = layout,
				    .ops = maximum,
				    .append_output = append,
				    .append_between = any_time,
				    .alerts = no_alerts,
				    .start_iteration = append ? 1 : 0,
				    .ndigits = -1,
				    .eps = 1e-8}};
	rank_make(&job->r, 1 << 20);
	h = job->r.j.head;
	h->clock.real_ns = (1700000000 + second++) * UINT64_C(1000000000);
	snprintf(h->journal_path, sizeof(h->journal_path), "%s/journal.bin", job->r.dir);
	if (another)
		start_recorded_process(job);
	else
		owner_self(&h->owner);
	assert_int_equal(
		sink_open(&job->r.sink, &job->r.j, job->r.dirfd, &job->cfg, FORMAT_BIT(MONITOR)),
		0);
	assert_int_equal(drain_open(&job->r.drain, &job->r.j, &job->r.sink), 0);
	assert_int_equal(chain_open(&job->c, &job->r.j, 1), 0);
}

static void publish_steps(struct job *job, unsigned steps)
{
	for (uint32_t step = 0; step < steps; step++) {
		uint32_t bytes = sizeof(struct journal_kind_row) + 8;
		struct journal_kind_row *e = chain_reserve(&job->c, bytes, NO_WAKE);

		assert_non_null(e);
		memset(e, 0, bytes);
		*e = (struct journal_kind_row){.e = {.bytes = bytes, .type = JE_KIND},
			.count = 8,
			.stats = {.n = 8, .max.f = step + 1.0},
			.step = step,
			.micro_step = UINT32_MAX,
			.kind = TK_PARAM_ORIGIN,
			.dtype = DT_FLOAT32};
		strcpy((char *)(e + 1), "w");
		chain_publish(&job->c, bytes);
	}
}

static void write_steps(struct job *job, unsigned steps)
{
	publish_steps(job, steps);
	assert_int_equal(drain_all(&job->r.drain, false), 0);
}

static const char *monitor_path_of(const struct job *job)
{
	static char path[4][JOURNAL_PATH_MAX];
	static int turn;
	char *p = path[turn++ % 4];

	format_monitor_folder(
		&job->r.sink.files, job->cfg.monitor_layout == MONITOR_V2, 0, p, JOURNAL_PATH_MAX);
	return p;
}

/* Steps that have rows in the folder, as bits. */
static unsigned steps_in(const char *folder)
{
	unsigned steps = 0;
	DIR *d = opendir(folder);

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		char path[JOURNAL_PATH_MAX + 300], line[512];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (!strstr(e->d_name, ".csv") || !(f = fopen(path, "r")))
			continue;
		/* vpp_stage,name,step,... or, of the second version, a row with another order: 1 to 3 steps all the same. */
		for (unsigned n = 0; fgets(line, sizeof(line), f); n++)
			if (n)
				steps |= 1u << (n - 1);
		fclose(f);
	}
	closedir(d);
	return steps;
}

static bool has_record(const char *folder)
{
	char path[JOURNAL_PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/" MONITOR_OWNER_FILE, folder);
	return access(path, F_OK) == 0;
}

static int put_record(int dirfd, const struct journal *j)
{
	char text[MONITOR_OWNER_MAX];
	size_t n = format_monitor_owner(text, sizeof(text), j);

	return io_replace_file(dirfd, MONITOR_OWNER_FILE, text, n);
}

static void end_job(struct job *job, bool properly)
{
	if (properly)
		sink_write_results(&job->r.sink);
	if (job->pid) {
		kill(job->pid, SIGKILL);
		waitpid(job->pid, NULL, 0);
	}
	job->pid = 0;
}

static void drop_job(struct job *job)
{
	end_job(job, false);
	rank_drop(&job->r);
}

static int make_shared(void **state)
{
	(void)state;
	make_tmp(shared, sizeof(shared));
	return 0;
}

static int drop_shared(void **state)
{
	(void)state;
	remove_tree(shared);
	return 0;
}

static void test_living_job_keeps_its_folder(void **state)
{
	struct job first, second, third;

	(void)state;
	start_job(&first, MONITOR_V1, false, true);
	write_steps(&first, 3);
	assert_true(has_record(monitor_path_of(&first)));
	start_job(&second, MONITOR_V1, true, true);
	write_steps(&second, 1);
	assert_string_not_equal(monitor_path_of(&first), monitor_path_of(&second));
	assert_int_equal(steps_in(monitor_path_of(&first)), 7);
	assert_int_equal(steps_in(monitor_path_of(&second)), 1);
	assert_int_equal(count_files(shared, "Nov"), 2);
	/* Both ended properly: a third goes on in the newest, in which steps from 1 on run again. */
	end_job(&first, true);
	assert_false(has_record(monitor_path_of(&first)));
	start_job(&third, MONITOR_V1, true, false);
	assert_string_equal(monitor_path_of(&third), monitor_path_of(&first));
	assert_true(has_record(monitor_path_of(&third)));
	assert_int_equal(steps_in(monitor_path_of(&third)), 1);
	assert_int_equal(count_files(shared, "Nov"), 3);
	drop_job(&third);
	drop_job(&second);
	drop_job(&first);
}

/* Rows that the killed job did not write are still in its journal: a job that took over its files now would lose or repeat them. */
static void test_killed_job(void **state)
{
	struct job first, second, third;

	(void)state;
	start_job(&first, MONITOR_V1, false, true);
	write_steps(&first, 3);
	end_job(&first, false);
	start_job(&second, MONITOR_V1, true, true);
	assert_string_not_equal(monitor_path_of(&first), monitor_path_of(&second));
	assert_non_null(strstr(log_loss_text(LOSS_FOLDER), "probe recover"));
	/* `probe recover` did its work: */
	unlink(first.r.j.head->journal_path);
	start_job(&third, MONITOR_V1, true, false);
	assert_string_equal(monitor_path_of(&third), monitor_path_of(&first));
	assert_int_equal(steps_in(monitor_path_of(&third)), 1);
	drop_job(&third);
	drop_job(&second);
	drop_job(&first);
}

/* It had made its folder, and was killed before its journal named a file there: `probe recover` continues in that folder. */
static void test_killed_at_the_first_file(void **state)
{
	(void)state;
	for (int v2 = 0; v2 < 2; v2++)
		for (int recorded = 0; recorded < 2; recorded++) {
			struct job job;
			char path[JOURNAL_PATH_MAX + 32];
			int fd;

			start_job(&job, v2 ? MONITOR_V2 : MONITOR_V1, false, true);
			publish_steps(&job, 3);
			end_job(&job, false);
			snprintf(path, sizeof(path), "%s", monitor_path_of(&job));
			assert_int_equal(mkdir(path, 0777), 0);
			rank_unsink(&job.r);
			fd = open(path, O_RDONLY | O_DIRECTORY);
			if (recorded)
				assert_int_equal(put_record(fd, &job.r.j), 0);
			close(fd);
			job.r.j.left = true;
			assert_int_equal(sink_open(&job.r.sink, &job.r.j, job.r.dirfd, &job.cfg,
						 FORMAT_BIT(MONITOR)),
				0);
			assert_int_equal(drain_open(&job.r.drain, &job.r.j, &job.r.sink), 0);
			assert_int_equal(drain_all(&job.r.drain, true), 0);
			assert_int_equal(steps_in(monitor_path_of(&job)), 7);
			strcat(path, ".1");
			assert_int_equal(access(path, F_OK), -1);
			drop_job(&job);
			remove_tree(shared);
			make_tmp(shared, sizeof(shared));
		}
}

/* The second version's folder has the same name in every job. */
static void test_second_version(void **state)
{
	struct job first, second, third;
	char want[128];

	(void)state;
	for (int append = 0; append < 2; append++) {
		start_job(&first, MONITOR_V2, false, true);
		write_steps(&first, 3);
		snprintf(want, sizeof(want), "%s/rank_0", shared);
		assert_string_equal(monitor_path_of(&first), want);
		start_job(&second, MONITOR_V2, append, true);
		write_steps(&second, 1);
		snprintf(want, sizeof(want), "%s/rank_0-pid%d", shared, (int)second.pid);
		assert_string_equal(monitor_path_of(&second), want);
		assert_int_equal(steps_in(monitor_path_of(&first)), 7);
		assert_int_equal(steps_in(monitor_path_of(&second)), 1);
		end_job(&first, true);
		start_job(&third, MONITOR_V2, false, false);
		write_steps(&third, 2);
		assert_int_equal(steps_in(monitor_path_of(&third)), 3);
		snprintf(want, sizeof(want), "%s/rank_0.%d", shared, 2 * append + 1);
		assert_int_equal(steps_in(want), 7);
		end_job(&third, true);
		drop_job(&third);
		drop_job(&second);
		drop_job(&first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_living_job_keeps_its_folder, make_shared, drop_shared),
		cmocka_unit_test_setup_teardown(test_killed_job, make_shared, drop_shared),
		cmocka_unit_test_setup_teardown(
			test_killed_at_the_first_file, make_shared, drop_shared),
		cmocka_unit_test_setup_teardown(test_second_version, make_shared, drop_shared),
	};

	return cmocka_run_group_tests_name("monitor_owner", tests, NULL, NULL);
}
