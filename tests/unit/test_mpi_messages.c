/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matched receives: what the probe has found is known at the receive, and a child that is forked while another thread
 * is about it neither waits for that thread nor takes the message for its own.
 */
#include "session_helper.h"

#include <sys/wait.h>

#include "wrappers/mpi/data.c"

struct mpi mpi = {.handle_size = 8};
static struct comm world = {.size = 2, .rank = 0, .users = 1};

/* ---- the rest of the adapter ---- */

bool mpi_is_ready(void)
{
	return true;
}

uint64_t mpi_handle_at(const void *p, uint64_t i)
{
	return ((const uint64_t *)p)[i];
}

struct comm *mpi_find_comm(uint64_t handle)
{
	return handle == 4 ? &world : NULL;
}

int32_t mpi_get_status_int(const void *status, int which)
{
	return ((const int32_t *)status)[which == CONST_STATUS_TAG];
}

void mpi_received(struct operation *w, const void *status)
{
	(void)w;
	(void)status;
}

void mpi_set_received_count(struct buffer *v, const void *status)
{
	(void)v;
	(void)status;
}

void mpi_window_handle_data(struct call *c)
{
	(void)c;
}

/* No files here. */
uint64_t mpi_get_split_key(const struct comm *file)
{
	(void)file;
	return 0;
}

bool mpi_request_handle_new(struct call *c, uint64_t h, uint64_t *end)
{
	*end = c->end;
	(void)h;
	return false;
}

bool mpi_request_is_complete(uint64_t h, void *status)
{
	(void)h;
	(void)status;
	return false;
}

/* ---- calls ---- */

static const struct kind kind_recv = {.name = "recv", .op = "recv"};
static const struct adapter lib = {.name = "mpi"};
/* MPI_Mprobe(source, tag, comm, message, status), MPI_Mrecv(message) */
static const struct api_spec mprobe = {.lib = &lib,
	.kind = &kind_recv,
	.at = {[ROLE_COMM] = 1, [ROLE_MESSAGE] = 2, [ROLE_STATUS] = 3}};
static const struct api_spec mrecv = {.lib = &lib, .kind = &kind_recv, .at = {[ROLE_MESSAGE] = 1}};
static struct api f_mprobe = {.spec = &mprobe}, f_mrecv = {.spec = &mrecv};

static void probes(uint64_t message)
{
	int32_t status[2] = {1, 77};
	union arg v[] = {{.u = 4}, {.p = &message}, {.p = status}};
	struct call c = {.api = &f_mprobe, .v = v, .ok = true};

	mpi_match_leave(&c);
}

/* True if it is known whose message that is. */
static bool receives(uint64_t message)
{
	union arg v[] = {{.p = &message}};
	struct call c = {.api = &f_mrecv, .v = v};

	c.op.nout = 1;
	mpi_data_handle_enter(&c);

	bool known = c.op.comm == &world && c.op.out[0].peer == 1 && c.op.out[0].tag == 77;

	assert_true(!known || atomic_load(&world.users) >= 2);
	mpi_data_handle_leave(&c);
	return known;
}

static void test_matched(void **state)
{
	(void)state;
	probes(100);
	probes(101);
	assert_true(receives(101));
	assert_true(receives(100));
	assert_false(receives(100));
	/* Received by a call that was not seen: the handle is another message's now. */
	probes(100);
	probes(100);
	assert_true(receives(100));
	assert_false(receives(100));
	for (uint64_t m = 1; m <= MESSAGES + 1; m++)
		probes(m);
	for (uint64_t m = 1; m <= MESSAGES + 1; m++)
		assert_true(receives(m) == (m <= MESSAGES));
	assert_int_equal(atomic_load(&world.users), 1);
}

static void test_forked(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	probes(7);
	pthread_mutex_lock(&messages_lock);
	pid = fork();
	if (pid == 0) {
		alarm(10);
		mpi_data_forked();
		if (receives(7))
			_exit(1);
		probes(8);
		_exit(receives(8) ? 0 : 2);
	}
	pthread_mutex_unlock(&messages_lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(receives(7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matched),
		cmocka_unit_test(test_forked),
	};

	return cmocka_run_group_tests_name("mpi_messages", tests, NULL, NULL);
}
