/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owners that live: told by the journal that they map, by whatever path it is reached; and dead ones that look alive:
 * exec'ed, zombies.
 */
#include "folder_helper.h"

struct living {
	pid_t pid;
	int go;
};

static uint64_t start_of(pid_t pid)
{
	char path[64], buf[1024], *p;
	int fd, field = 2;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = 0;
	for (p = strrchr(buf, ')'); p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return strtoull(p + 1, NULL, 10);
}

/* A child that maps `path`, or, exec'ed, does not. */
static struct journal_owner living(struct living *l, const char *path, bool execs)
{
	struct journal_owner o = me();
	int ready[2], go[2];
	char c;

	assert_int_equal(pipe(ready) | pipe(go), 0);
	l->pid = fork();
	if (l->pid == 0) {
		int fd = open(path, O_RDWR);

		if (mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			_exit(1);
		close(go[1]);
		if (execs) {
			dup2(go[0], 0);
			fcntl(ready[1], F_SETFD, FD_CLOEXEC);
			execlp("cat", "cat", NULL);
			_exit(1);
		}
		if (write(ready[1], "r", 1) != 1 || read(go[0], &c, 1))
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(go[0]);
	l->go = go[1];
	if (read(ready[0], &c, 1) != 1 && !execs)
		fail_msg("no child");
	close(ready[0]);
	o.pid = l->pid;
	o.start_time = start_of(l->pid);
	return o;
}

static void ends(struct living *l)
{
	close(l->go);
	waitpid(l->pid, NULL, 0);
}

static void make_journal_at(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0666);

	assert_int_equal(ftruncate(fd, 4096), 0);
	close(fd);
}

static void test_living_owner(void **state)
{
	struct living l;
	struct journal_owner o;
	char name[320], link[100];

	(void)state;
	make_journal_at(at("journal"));
	o = living(&l, at("journal"), false);
	assert_int_equal(owner_life(&o, at("journal")), OWNER_LIVES);
	assert_int_equal(owner_life(&o, ""), OWNER_LIVES);
	/* By a symbolic link in the path: the list of mappings shows the real one. */
	snprintf(link, sizeof(link), "%s-link", out);
	assert_int_equal(symlink(out, link), 0);
	snprintf(name, sizeof(name), "%s/journal", link);
	assert_int_equal(owner_life(&o, name), OWNER_LIVES);
	old_folder("rank0", &o, "running", name);
	check_take(second_name(), true);
	unlink(link);
	/* Another file than it maps: it has exec'ed. */
	make_journal_at(at("other"));
	assert_int_equal(owner_life(&o, at("other")), OWNER_DEAD);
	/* Removed under it. */
	unlink(at("journal"));
	assert_int_equal(owner_life(&o, at("journal")), OWNER_LIVES);
	/* A zombie is dead. */
	close(l.go);
	waitid(P_PID, (id_t)l.pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
	assert_int_equal(owner_life(&o, at("journal")), OWNER_DEAD);
	waitpid(l.pid, NULL, 0);
	assert_int_equal(owner_life(&o, at("journal")), OWNER_DEAD);
	assert_int_equal(owner_life(&(struct journal_owner){0}, ""), OWNER_DEAD);
}

static void test_execed_owner(void **state)
{
	struct living l;
	struct journal_owner o;

	(void)state;
	make_journal_at(at("journal"));
	o = living(&l, at("journal"), true);
	assert_int_equal(owner_life(&o, at("journal")), OWNER_DEAD);
	ends(&l);
}

/* Its journal lies in the folder, which was moved since, and whose path no JSON text can hold. */
static void test_living_owner_of_a_moved_folder(void **state)
{
	struct living l;
	struct journal_owner o;

	(void)state;
	mkdir(at("rank0"), 0777);
	make_journal_at(at("rank0/journal.bin"));
	o = living(&l, at("rank0/journal.bin"), false);
	rename(at("rank0"), at("away"));
	old_folder("rank0", &o, "running", at("was\xff/journal.bin"));
	rename(at("away/journal.bin"), at("rank0/journal.bin"));
	check_take(second_name(), true);
	ends(&l);
	check_take("rank0", false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_living_owner, begin, end),
		cmocka_unit_test_setup_teardown(test_execed_owner, begin, end),
		cmocka_unit_test_setup_teardown(test_living_owner_of_a_moved_folder, begin, end),
	};

	return cmocka_run_group_tests_name("owner", tests, NULL, NULL);
}
