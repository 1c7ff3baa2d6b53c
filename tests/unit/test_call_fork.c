/* SPDX-License-Identifier: Apache-2.0 */
/* link: -Wl,--wrap=io_read_file -Wl,--wrap=pthread_create */
/*
 * A program forks inside a wrapped function (a callback of the library does): parent and child both come back from it.
 */
#include "call_child.h"

#include "api/runtime_registry.h"
#include "call/async.h"
#include "call/named_row.h"

static unsigned leaves;

/* Locks that another thread may hold at the time of the fork. */
static pthread_mutex_t adapters = PTHREAD_MUTEX_INITIALIZER;

static void forked(void)
{
	pthread_mutex_init(&adapters, NULL);
}

static void (*const fork_handlers[])(void) = {forked, NULL};

static void leave(struct call *c, int64_t ret)
{
	(void)ret;
	pthread_mutex_lock(&adapters);
	leaves++;
	pthread_mutex_unlock(&adapters);
	async_started(c, 7, false);
}

static const struct adapter starts = {
	.name = "mpi", .leave = leave, .fork_handlers = fork_handlers};
static const struct api_spec isend = {.symbol = "MPI_Isend",
	.list_name = "MPI_Isend",
	.lib = &starts,
	.kind = &kind_send,
	.completion = DONE_REQUEST};
static const struct api_spec dup_comm = {.symbol = "MPI_Comm_dup",
	.list_name = "MPI_Comm_dup",
	.lib = &starts,
	.task = TASK_COMM_NEW};
static struct api fn[2] = {{.spec = &isend, .word = API_LISTED | API_HOOKED},
	{.spec = &dup_comm, .word = API_LISTED | API_HOOKED}};

/* Returns what fork() gave in there. */
static pid_t fork_inside(struct api *f, bool thrown)
{
	struct call c;
	pid_t pid;

	CHECK(call_enter(&c, f, NULL, (uintptr_t)__builtin_return_address(0),
		(uintptr_t)__builtin_frame_address(0)));
	CHECK(thread_state.depth == 1);
	pid = fork();
	if (thrown)
		call_unwind(&c);
	else
		CHECK(call_leave(&c, 0) == 0);
	return pid;
}

static void parent_and_child(void)
{
	char *of_child = NULL;

	set("PROBE_FORK=follow");
	session_set_rank(3, 4);
	CHECK(call());
	for (unsigned i = 0; i < 2; i++) {
		fn[i].word |= API_ON;
		fn[i].real = leave; /* any address: it is not called */
	}
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork_inside(&fn[i % 2], i == 2);
		int status;

		CHECK(thread_state.depth == 0 && thread_state.busy == 0);
		CHECK(leaves == (i < 2 ? i + 1u : 2));
		if (pid == 0) {
			/* Not one level down for ever. */
			for (int k = 0; k < 5; k++)
				CHECK(call());
			CHECK(asprintf(&of_child, "rank3-pid%d", (int)getpid()) > 0);
			session_end();
			CHECK(rows(of_child) == 5);
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		CHECK(call());
	}
	session_end();
	CHECK(rows("rank3") == 6); /* the four, the one that was started, the one that was left */
}

static void test_fork_inside(void **state)
{
	(void)state;
	in_child(parent_and_child);
}

/* The adapter is called in the child, whether that records or not: no lock may be left there. */
static void locked_meanwhile(void)
{
	struct made_row made = {.api = &fn[1]};
	int status;
	pid_t pid;

	session_set_rank(3, 4);
	CHECK(session_configure());
	for (int i = 0; i < 2; i++) {
		fn[1].word |= API_ON;
		fn[1].real = leave;
		if (i == 0)
			rows_add(&made);
		else
			CHECK(call());
		pthread_mutex_lock(&adapters);
		pid = fork();
		if (pid == 0) {
			struct call c;

			alarm(10);
			CHECK(call_enter(&c, &fn[1], NULL, (uintptr_t)__builtin_return_address(0),
				(uintptr_t)__builtin_frame_address(0)));
			CHECK(call_leave(&c, 0) == 0 && leaves == 1);
			_exit(0);
		}
		pthread_mutex_unlock(&adapters);
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	}
}

static void locked_meanwhile_followed(void)
{
	set("PROBE_FORK=follow");
	locked_meanwhile();
}

static void test_locks_of_adapters(void **state)
{
	(void)state;
	in_child(locked_meanwhile);
	in_child(locked_meanwhile_followed);
}

/* A row that an adapter made has a name in the child's journal too. */
static void named_in_both(void)
{
	static const struct adapter named = {.name = "saved"};
	struct api *row = named_row_new(&named, "by_name", "of_both");
	uint32_t of_parent;
	int status;
	pid_t pid;

	set("PROBE_FORK=follow");
	session_set_rank(3, 4);
	CHECK(row && call());
	of_parent = record_api(row);
	CHECK(of_parent && record_api(row) == of_parent);
	pid = fork();
	if (pid == 0) {
		const void *entry;

		CHECK(atomic_load(&row->dict) == 0);
		CHECK(call());
		entry = journal_dict_get(&session.journal, DICT_API, (uint16_t)record_api(row));
		CHECK(entry && strstr(entry, "saved"));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void test_named_rows(void **state)
{
	(void)state;
	in_child(named_in_both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork_inside),
		cmocka_unit_test(test_locks_of_adapters),
		cmocka_unit_test(test_named_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
