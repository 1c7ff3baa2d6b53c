/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sixteen processes that want the same rank's folder at the same moment, again and again: each gets one of its own,
 * whole, and what an earlier run left is not lost.
 */
/* long: 60 rounds */
#include "core_helper.h"

#include <sys/mman.h>
#include <sys/wait.h>

#include "folder/folder.h"
#include "folder/owner.h"
#include "long_form.h"

#define RACERS 16
#define ROUNDS long_or_short(60, 18)

struct shared {
	_Atomic unsigned ready;
	_Atomic bool go, done;
	struct {
		int err;
		char path[256];
		bool other;
	} got[RACERS];
};

static size_t meta_for(char *buf, size_t cap, const struct journal_owner *o)
{
	struct text t = text_init(buf, cap);

	text_add_string(&t, "{\n \"format\": 1,\n \"state\": \"running\",\n ");
	owner_format(&t, o);
	text_add_string(&t, "\n}\n");
	return t.len;
}

static void race(struct shared *s, unsigned i, const char *out)
{
	struct journal_owner me;
	struct folder f;
	char meta[1024], mark[32];
	const char *why;
	size_t n;

	owner_self(&me);
	n = meta_for(meta, sizeof(meta), &me);
	s->ready++;
	while (!s->go)
		;
	s->got[i].err = folder_take(&f, out, 0, &me, meta, n, NULL, &why);
	s->got[i].other = why != NULL;
	if (!s->got[i].err) {
		snprintf(s->got[i].path, sizeof(s->got[i].path), "%.255s", f.path);
		snprintf(mark, sizeof(mark), "by-%u", i);
		close(openat(f.dir.fd, mark, O_CREAT | O_WRONLY, 0666));
	}
	/* All live until all have theirs. */
	s->ready--;
	while (!s->done)
		usleep(100);
	_exit(0);
}

static void check_raced_folder(const struct shared *s, unsigned i, pid_t pid)
{
	struct journal_owner o;
	char path[320];
	size_t n;

	if (s->got[i].err)
		fail_msg("racer %u got no folder: %s", i, strerror(-s->got[i].err));
	snprintf(path, sizeof(path), "%s/meta.json", s->got[i].path);

	char *text = read_test_file(path, &n);

	assert_non_null(text);
	assert_int_equal(owner_parse(text, &o), 0);
	assert_int_equal(o.pid, pid);
	free(text);
	/* No other process takes it for its own, and nothing is left over. */
	assert_int_equal(count_files(s->got[i].path, "by-"), 1);
	assert_int_equal(count_files(s->got[i].path, "meta.json"), 1);
	assert_int_equal(count_files(s->got[i].path, "moving"), 0);
}

static void one_round(struct shared *s, bool with_old)
{
	char out[64], path[128];
	pid_t pid[RACERS];
	unsigned first = 0;

	memset(s, 0, sizeof(*s));
	make_tmp(out, sizeof(out));
	if (with_old) {
		struct journal_owner o;
		struct folder f;
		char meta[1024];
		const char *other;

		owner_self(&o);
		o.start_time ^= 1; /* the pid is another process' by now */
		assert_int_equal(folder_take(&f, out, 0, &o, meta, meta_for(meta, sizeof(meta), &o),
					 NULL, &other),
			0);
		close(openat(f.dir.fd, "calls_0-99.csv", O_CREAT | O_WRONLY, 0666));
		folder_close(&f);
	}
	for (unsigned i = 0; i < RACERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			race(s, i, out);
	}
	while (s->ready < RACERS)
		usleep(10);
	s->go = true;
	while (s->ready)
		usleep(10);
	snprintf(path, sizeof(path), "%s/rank0", out);
	for (unsigned i = 0; i < RACERS; i++) {
		check_raced_folder(s, i, pid[i]);
		first += strcmp(s->got[i].path, path) == 0;
		assert_int_equal(s->got[i].other, strcmp(s->got[i].path, path) != 0);
	}
	/* At most one: a mover may be overtaken so often that it gives the plain name up. */
	assert_true(first <= 1);
	if (!with_old)
		assert_int_equal(first, 1);
	if (with_old) {
		unsigned old = 0;

		for (int k = 0; k < 3; k++) {
			snprintf(path, sizeof(path), "%s/rank0%s/calls_0-99.csv", out,
				k == 0	 ? ""
				: k == 1 ? ".1"
					 : ".2");
			old += access(path, F_OK) == 0;
		}
		assert_int_equal(old, 1);
	}
	s->done = true;
	for (unsigned i = 0; i < RACERS; i++)
		waitpid(pid[i], NULL, 0);
	remove_tree(out);
}

static void test_race(void **state)
{
	struct shared *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(s != MAP_FAILED);
	for (int i = 0; i < ROUNDS; i++)
		one_round(s, i % 3 != 0);
	munmap(s, sizeof(*s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_race),
	};

	return cmocka_run_group_tests_name("folder_race", tests, NULL, NULL);
}
