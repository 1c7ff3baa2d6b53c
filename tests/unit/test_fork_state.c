/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create -Wl,--wrap=pthread_mutex_unlock */
/*
 * A process forks while another thread of it holds a lock of ours: the child uses what the lock guards, and goes on. And
 * what the parent's folder has and the child's lacks is written again.
 */
#include "session_child.h"

#include "stack/foreign.h"
#include "training/params/kind.h"
#include "training/params/param.h"
#include "training/steps/step_times.h"

#define CHILD_S 20

/* The thread that holds: it stays before it unlocks for the first time. */
static _Thread_local bool holds;
static _Atomic bool held, may_unlock;

int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (holds) {
		holds = false;
		held = true;
		while (!may_unlock)
			sched_yield();
	}
	return __real_pthread_mutex_unlock(m);
}

static void use_step_times(void)
{
	step_part_start(PART_DATA);
}

static void use_targets(void)
{
	static const struct train_param p = {.id = 1, .name = "layer.weight", .module = "layer"};
	static const struct train_params all = {.n = 1, .generation = 1, .at = &p};

	train_param_is_target(&all, &p);
}

static void use_lent_frames(void)
{
	foreign_start_lending();
	foreign_stop_lending();
}

static const struct use {
	const char *name;
	void (*use)(void);
} uses[] = {
	{"times of a step", use_step_times},
	{"gradients and buckets", train_reset_grads},
	{"targets of statistics", use_targets},
	{"lent frames", use_lent_frames},
};

static void *hold(void *arg)
{
	const struct use *u = arg;

	holds = true;
	u->use();
	return NULL;
}

static const struct use *current;

static void forked_while_held(void)
{
	pthread_t th;
	int status;
	pid_t pid;

	set("PROBE_FORK=follow");
	set("PROBE_TARGETS=[layer.weight]");
	session_set_rank(0, 2);
	CHECK(call());
	CHECK(pthread_create(&th, NULL, hold, (void *)current) == 0);
	while (!held)
		sched_yield();
	pid = fork();
	if (pid == 0) {
		alarm(CHILD_S);
		current->use();
		CHECK(call());
		session_end();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (status)
		fprintf(stderr, "# %s: the child ended with status %#x\n", current->name,
			(unsigned)status);
	may_unlock = true;
	CHECK(pthread_join(th, NULL) == 0);
	session_end();
	CHECK(status == 0);
}

static void child_uses_what_another_thread_held(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(uses) / sizeof(*uses); i++) {
		current = &uses[i];
		in_child(forked_while_held);
	}
}

static int publish(const char *name)
{
	struct train_param p = {.name = name, .module = "layer"};

	return train_register_params(&p, 1, "test");
}

static bool has_row_of_name(const char *folder, const char *name)
{
	size_t n;
	char *text = read_test_file(path_in(folder, "names.csv"), &n);

	return text && strstr(text, name);
}

/* The adapter that finds names asks what is known, and publishes what is not. */
static void named_in_child(void)
{
	char *folder = NULL;
	int status;
	pid_t pid;

	set("PROBE_FORK=follow");
	session_set_rank(0, 2);
	CHECK(call());
	CHECK(publish("layer.weight") == 1 && train_get_params());
	pid = fork();
	if (pid == 0) {
		alarm(CHILD_S);
		CHECK(!train_get_params());
		CHECK(call());
		CHECK(publish("layer.weight") == 1);
		session_end();
		CHECK(asprintf(&folder, "rank0-pid%d", (int)getpid()) > 0);
		CHECK(has_row_of_name(folder, "layer.weight"));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	session_end();
	CHECK(has_row_of_name("rank0", "layer.weight"));
}

static void child_names_parameters_again(void **state)
{
	(void)state;
	in_child(named_in_child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(child_uses_what_another_thread_held),
		cmocka_unit_test(child_names_parameters_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
