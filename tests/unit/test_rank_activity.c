/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are in no call, judged by the measurements of their writers: one that /proc shows, and one on another host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder/owner.h"
#include "tools/probe/rules/rank_activity.h"

#define S UINT64_C(1000000000)
#define NOW (UINT64_C(1700000000) * S)

static struct rank_dir dir[2];
static struct rank_info info[2];
static const struct open_call *blocked_in[2], *started[2];
static struct report report;

/* Rank 0 is examined; rank 1 is on the same host, and its writer works. Their last calls ended 30 s ago. */
static void set_up(enum rank_state state, uint64_t still_ns, uint64_t silence_ns)
{
	memset(dir, 0, sizeof(dir));
	memset(info, 0, sizeof(info));
	memset(&report, 0, sizeof(report));
	for (int i = 0; i < 2; i++) {
		dir[i].rank = i;
		dir[i].state = state;
		dir[i].alive_ns = NOW - S / 2;
		dir[i].meta.has_owner = true;
		dir[i].meta.end.how = (char *)"";
		dir[i].meta.owner.pid = 1;
		strcpy(dir[i].meta.owner.boot_id, "another host");
		dir[i].progress = (struct rank_progress){.known = true};
		info[i].last.rows = 1;
		info[i].last.start = NOW - 30 * S;
	}
	dir[0].alive_ns = NOW - silence_ns;
	dir[0].progress.still_ns = still_ns;
	dir[0].progress.cpu_percent = still_ns ? 0 : 99;
	report.g.folders.dir = dir;
	report.g.folders.n = 2;
	report.g.rank = info;
	report.g.opens.now = NOW;
	report.stuck.blocked_in = blocked_in;
	report.stuck.blocked = started;
	started[0] = NULL;
	stacks_init(&report.stacks, &report.g);
}

static struct activity look(void)
{
	struct activity m = find_rank_activity(&report, 0);

	stacks_free(&report.stacks);
	return m;
}

static void a_rank_of_another_host_is_still(void **state)
{
	struct activity m;

	(void)state;
	set_up(RANK_UNSEEN, 12 * S, S / 2);
	m = look();
	assert_int_equal(m.state, ACTIVITY_STILL);
	assert_true(m.since_ns == 12 * S);
}

static void stillness_before_its_last_call_does_not_count(void **state)
{
	(void)state;
	set_up(RANK_RUNNING, 90 * S, S / 2);
	assert_true(look().since_ns == 30 * S);
}

static void a_rank_that_computes_is_busy(void **state)
{
	struct activity m;

	(void)state;
	set_up(RANK_RUNNING, 0, S / 2);
	m = look();
	assert_int_equal(m.state, ACTIVITY_BUSY);
	assert_int_equal(m.cpu_percent, 99);
}

static void a_rank_whose_children_cannot_be_seen_is_unknown(void **state)
{
	(void)state;
	set_up(RANK_RUNNING, 12 * S, S / 2);
	dir[0].progress.unseen = true;
	assert_int_equal(look().state, ACTIVITY_UNKNOWN);
}

static void a_rank_without_a_call_is_starting(void **state)
{
	(void)state;
	set_up(RANK_RUNNING, 12 * S, S / 2);
	info[0].last.rows = 0;
	assert_int_equal(look().state, ACTIVITY_STARTING);
}

/* Its first call started an operation; that has no row before it is complete. */
static void a_rank_that_started_an_operation_is_not_starting(void **state)
{
	static const struct open_call c = {.age = 5 * S};
	struct activity m;

	(void)state;
	set_up(RANK_RUNNING, 12 * S, S / 2);
	info[0].last.rows = 0;
	started[0] = &c;
	m = look();
	assert_int_equal(m.state, ACTIVITY_STILL);
	assert_true(m.since_ns == 5 * S);
}

static void silence_counts_where_the_host_is_well(void **state)
{
	(void)state;
	set_up(RANK_UNSEEN, 0, 6 * S);
	assert_int_equal(look().state, ACTIVITY_SILENT);
	set_up(RANK_UNSEEN, 0, 6 * S);
	dir[1].alive_ns = NOW - 6 * S;
	assert_int_equal(look().state, ACTIVITY_UNKNOWN);
	set_up(RANK_UNSEEN, 0, 3 * S);
	assert_int_equal(look().state, ACTIVITY_UNKNOWN);
}

static void gone_ranks_are_gone(void **state)
{
	(void)state;
	set_up(RANK_KILLED, 12 * S, 60 * S);
	assert_int_equal(look().state, ACTIVITY_GONE);
}

static void a_process_of_this_host_is_seen_to_be_stopped(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	set_up(RANK_RUNNING, 0, S / 2);
	owner_self(&dir[0].meta.owner);
	dir[0].meta.owner.pid = pid;
	/* Its start is its own, not ours: that of the process is taken from /proc. */
	{
		char path[64], text[1024];
		FILE *f;
		unsigned long long start = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		f = fopen(path, "r");
		assert_non_null(f);
		assert_non_null(fgets(text, sizeof(text), f));
		fclose(f);
		assert_int_equal(
			sscanf(strrchr(text, ')') + 2,
				"%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d "
				"%*d %*d %*d %*d %llu",
				&start),
			1);
		dir[0].meta.owner.start_time = start;
	}
	assert_int_equal(find_rank_activity(&report, 0).state, ACTIVITY_BUSY);
	kill(pid, SIGSTOP);
	usleep(100000);
	assert_int_equal(look().state, ACTIVITY_STOPPED);
	/* Elsewhere that number is another process'. */
	dir[0].meta.owner.pid_ns++;
	assert_false(is_rank_stopped(&report, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void a_silent_writer_of_a_process_that_is_seen_to_run_is_no_stop(void **state)
{
	(void)state;
	set_up(RANK_RUNNING, 0, 8 * S);
	owner_self(&dir[0].meta.owner);
	assert_int_equal(look().state, ACTIVITY_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rank_of_another_host_is_still),
		cmocka_unit_test(stillness_before_its_last_call_does_not_count),
		cmocka_unit_test(a_rank_that_computes_is_busy),
		cmocka_unit_test(a_rank_whose_children_cannot_be_seen_is_unknown),
		cmocka_unit_test(a_rank_without_a_call_is_starting),
		cmocka_unit_test(a_rank_that_started_an_operation_is_not_starting),
		cmocka_unit_test(silence_counts_where_the_host_is_well),
		cmocka_unit_test(gone_ranks_are_gone),
		cmocka_unit_test(a_process_of_this_host_is_seen_to_be_stopped),
		cmocka_unit_test(a_silent_writer_of_a_process_that_is_seen_to_run_is_no_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
