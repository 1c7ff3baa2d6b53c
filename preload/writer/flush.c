/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files from a thread of the job: on request, before exec, and at the end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/private_stack.h"
#include "base/io.h"
#include "base/thread.h"
#include "base/tid.h"
#include "session/state.h"
#include "writer/output.h"
#include "writer/role.h"
#include "writer/writer.h"

/*
 * At its end the program waits for the thread that has the role: at most this long without
 * progress, and this long in total.
 */
#define END_IDLE_MS 2000
#define END_MOST_MS 30000
#define END_LOOK_MS 250

/*
 * True if the holder of the role could run: it waits for a processor, not for an event that may
 * never occur (a dead file server).
 */
static bool holder_is_runnable(void)
{
	char path[64], stat[512];
	int tid = role_holder();
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	n = tid ? io_read_file(AT_FDCWD, path, stat, sizeof(stat)) : 0;

	/* In /proc/.../stat the process name, in parentheses, precedes the state. */
	const char *end = n > 0 ? memrchr(stat, ')', (size_t)n) : NULL;

	return end && stat + n - end > 2 && end[2] == 'R';
}

/*
 * Takes the role. A pass takes 1 ms of processor time, so waiting is long only on a very crowded
 * machine, or with a slow disk.
 */
static bool lock_role_at_end(void)
{
	uint64_t seq = 0;
	int idle = 0;

	atomic_store(&output.hurry, 1);
	/*
	 * This thread is the writer itself: a signal handler that has interrupted its writing
	 * ends the program.
	 */
	if (role_holder() == (int)read_tid())
		return false;
	for (int waited = 0; waited < END_MOST_MS && idle < END_IDLE_MS; waited += END_LOOK_MS) {
		uint64_t now;

		if (role_take_within(END_LOOK_MS))
			return true;
		now = atomic_load_explicit(&session.journal.head->commit_seq, memory_order_relaxed);
		idle = now == seq && !holder_is_runnable() ? idle + END_LOOK_MS : 0;
		seq = now;
	}
	return false;
}

static void write_on_private_stack(void *arg)
{
	int cancel;

	(void)arg;
	/* If this thread were cancelled while it writes, it would keep the role. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	atomic_fetch_add(&output.waiting, 1);
	if (lock_role_at_end()) {
		if (session_is_on())
			drain_now(false);
		output_release();
	}
	atomic_fetch_sub(&output.waiting, 1);
	pthread_setcancelstate(cancel, NULL);
}

void session_flush(void)
{
	if (session_is_on() && getpid() == session.pid)
		private_stack_call(write_on_private_stack, NULL);
}

void session_exec(void)
{
	int err = errno;

	thread_state.busy++;
	session_flush();
	thread_state.busy--;
	errno = err;
}

/* Caller has the role. */
static void write_the_end(void)
{
	int bad = drain_now(true);

	/* Records that could not be written stay in the journal, for `probe recover`. */
	if (bad || !session.journal.safe)
		return;
	if (journal_is_inside())
		unlinkat(output.folder.dir.fd, "journal.bin", 0);
	else
		journal_remove(session.journal.head->journal_path);
}

void writer_end(void)
{
	/* Even if the rest fails: this process was not killed. */
	atomic_store(&session.journal.head->state, JS_ENDED);
	atomic_store(&output.stop, true);
	session_hooks.describe_late();
	atomic_fetch_add(&output.waiting, 1);
	if (lock_role_at_end()) {
		write_the_end();
		atomic_store(&output.end, END_TRIED);
		output_release();
	} else {
		atomic_store(&output.end, END_LEFT);
	}
}

bool end_left_over(void)
{
	if (atomic_load(&output.end) == END_LEFT && role_take_within(1000)) {
		write_the_end();
		atomic_store(&output.end, END_TRIED);
		output_release();
	}
	return atomic_load(&output.end) == END_TRIED;
}
