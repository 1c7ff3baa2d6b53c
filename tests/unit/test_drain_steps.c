/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Killed at an instruction: a child records and drains instruction by instruction. It is stopped every few thousand
 * of them, and more often after every commit; folder and journal are copied as they lie there, and the copy must
 * recover to what the child had done. Then the same with a recovery in the child's place.
 */
/* long: 15 seconds for each of the tests */
#include "crash_helper.h"
#include "long_form.h"

#include <signal.h>
#include <time.h>

/* For each of the tests; STEP_SECONDS=n in the environment: n seconds. */
#define SECONDS (double)long_or_short(15, 4)

/* ThreadSanitizer's own instructions trap too: it comes to no commit in that time. There is one thread. */
#ifdef __SANITIZE_THREAD__
#define TOO_SLOW 1
#else
#define TOO_SLOW 0
#endif

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void write_text(int dirfd, const char *name, const char *text, size_t n)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

static void copy_folder(const char *from, int to)
{
	DIR *d = opendir(from);

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		char path[512];
		size_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", from, e->d_name);

		char *text = read_test_file(path, &n);

		write_text(to, e->d_name, text, n);
		free(text);
	}
	closedir(d);
}

struct look {
	const struct crash_truth *truth;
	bool spilled;
	unsigned n;
	unsigned
		stride; /* instructions from one moment to the next at most, when nothing was committed lately */
};

static void check_copy(const char *dir, struct look *l, uint64_t step)
{
	char copy[64];
	int fd;

	make_tmp(copy, sizeof(copy));
	fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	copy_folder(dir, fd);
	assert_int_equal(recover(copy), 0);

	char *bad = verify(copy, l->truth, l->spilled);

	if (bad)
		fail_msg("after %llu instructions, kept in %s: %s", (unsigned long long)step, copy,
			bad);
	if (l->n % 8 == 0) {
		uint64_t before = folder_hash(copy);

		assert_int_equal(recover(copy), 0);
		assert_int_equal(folder_hash(copy), before);
	}
	close(fd);
	remove_tree(copy);
	l->n++;
}

/* ---- step by step: the processor traps after each instruction, the child counts, and stops where it is to ---- */

static struct steps {
	volatile uint64_t taken, next;
	volatile const _Atomic uint64_t *commits; /* it also stops whenever this changes */
} * steps;

static void trap(int sig)
{
	static uint64_t seen;

	(void)sig;
	if (++steps->taken < steps->next && *steps->commits == seen)
		return;
	seen = *steps->commits;
	raise(SIGSTOP);
}

static void trap_each_instruction(void)
{
	struct sigaction sa = {.sa_handler = trap};

	sigaction(SIGTRAP, &sa, NULL);
#if defined(__x86_64__)
	__asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
#else
	_exit(77);
#endif
}

static void trap_no_more(void)
{
#if defined(__x86_64__)
	__asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
#endif
}

/* Looks at the folder wherever the child stops, until it ends. False: cannot be done on this processor. */
static bool walk(pid_t pid, const char *dir, struct look *l)
{
	const char *seconds = getenv("STEP_SECONDS");
	uint64_t seed = 99, commits = 0, until = 0;
	double end = now() + (seconds ? atof(seconds) : SECONDS);
	int status = 0;

	/* On a crowded machine longer, for fewer moments show little. */
	while (now() < end || (l->n < 40 && now() < end + 60)) {
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		if (WIFEXITED(status)) {
			assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
			return WEXITSTATUS(status) == 0;
		}
		if (!WIFSTOPPED(status))
			fail_msg("the child was killed by signal %d", WTERMSIG(status));
		check_copy(dir, l, steps->taken);
		if (*steps->commits != commits)
			until = steps->taken + 300;
		commits = *steps->commits;
		steps->next = steps->taken + 1 + roll(&seed, steps->taken < until ? 20 : l->stride);
		kill(pid, SIGCONT);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return true;
}

static void steps_make(struct look *l, const _Atomic uint64_t *commits, unsigned stride)
{
	*l = (struct look){.truth = truth_make(), .stride = stride};
	steps = mmap(
		NULL, sizeof(*steps), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(steps != MAP_FAILED);
	*steps = (struct steps){.next = 1, .commits = commits};
}

/* ---- what the child does ---- */

static void script(struct rank *r, struct crash_truth *truth)
{
	struct chain c[2] = {{0}};
	uint64_t way[4] = {0}, seq = 1;

	for (uint32_t round = 0; round < 40; round++) {
		for (int i = 0; i < 2; i++)
			if (!c[i].slot && chain_open(&c[i], &r->j, i))
				_exit(3);
		for (unsigned i = 0; i < 3; i++, seq++) {
			_Atomic uint8_t *how = &truth->how[seq];

			*how = T_ENTERING;

			struct journal_call *e =
				enter_call(&c[i % 2], seq, round, plan_nin(seq), plan_nout(seq));

			*how = T_ENTERED;
			if (i == 1) {
				uint64_t *old = &way[round % 4];

				*how = T_STARTING;
				leave_async(e);
				*how = T_STARTED;
				/* One that was started four steps ago ends, on the other thread. */
				if (*old) {
					truth->how[*old] = T_ENDING;
					end_test_call(&c[0], *old, plan_nout(*old));
					truth->how[*old] = T_ENDED;
				}
				*old = seq;
			} else if (i == 2 && round % 3 == 0) {
				/* Written while it is open: at first it holds its chain. */
				if (drain_all(&r->drain, false))
					_exit(4);
				*how = T_LEAVING;
				leave_call(e, plan_nout(seq));
				*how = T_LEFT;
			} else {
				*how = T_LEAVING;
				leave_call(e, plan_nout(seq));
				*how = T_LEFT;
			}
		}
		put_comm(&c[1], seq++, truth);
		if (round % 5 == 4)
			chain_close(&c[1]);
		if (drain_all(&r->drain, false))
			_exit(4);
	}
}

static void make_rank(struct rank *r)
{
	rank_make(r, 1 << 20);
	dict_api(&r->j, 1, "MPI_X");
	r->j.head->block_steps = 2;
	r->j.head->part_bytes = 1200;
}

static void test_drain(void **state)
{
	struct look l;
	struct rank r;
	pid_t pid;

	(void)state;
	if (TOO_SLOW)
		skip();
	make_rank(&r);
	rank_sink(&r);
	steps_make(&l, &r.j.head->commit_seq, 6000);
	pid = fork();
	if (pid == 0) {
		trap_each_instruction();
		script(&r, (struct crash_truth *)(uintptr_t)l.truth);
		trap_no_more();
		_exit(0);
	}
	if (!walk(pid, r.dir, &l))
		skip();
	print_message("# %u moments of %llu instructions, commit %llu\n", l.n,
		(unsigned long long)steps->taken, (unsigned long long)r.j.head->commit_seq);
	/* Must be reached within the time limit on a busy machine. */
	assert_true(l.n > 25);
	rank_drop(&r);
}

/* In a killed process' place: much in the journal, calls parked and open, and rows after the committed lengths. */
static void leave_much(struct rank *r, struct crash_truth *truth)
{
	struct crash_plan plan = {7, &r->j, truth, 0, 120};

	live(&plan);
	if (drain_all(&r->drain, false))
		_exit(4);
	plan = (struct crash_plan){8, &r->j, truth, 1, 60};
	live(&plan);
	/* As if the pass had been killed between writing and committing. */
	for (int i = 0; i < FILES_OPEN; i++)
		if (r->sink.files.file[i].at.fd >= 0 &&
			write(r->sink.files.file[i].at.fd, "1,,2,torn", 9) != 9)
			_exit(4);
	_exit(0);
}

static void test_recovery(void **state)
{
	struct look l;
	struct rank r;
	pid_t pid;
	int status;

	(void)state;
	if (TOO_SLOW)
		skip();
	make_rank(&r);
	rank_sink(&r);
	steps_make(&l, &r.j.head->commit_seq, 1500);
	pid = fork();
	if (pid == 0)
		leave_much(&r, (struct crash_truth *)(uintptr_t)l.truth);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	l.spilled = r.j.head->spilled > 0;
	pid = fork();
	if (pid == 0) {
		trap_each_instruction();
		status = recover(r.dir);
		trap_no_more();
		_exit(status ? 6 : 0);
	}
	if (!walk(pid, r.dir, &l))
		skip();
	print_message("# %u moments of %llu instructions\n", l.n, (unsigned long long)steps->taken);
	/* Must be reached within the time limit on a busy machine. */
	assert_true(l.n > 25);
	rank_drop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_recovery),
	};

	return cmocka_run_group_tests_name("drain_steps", tests, NULL, NULL);
}
