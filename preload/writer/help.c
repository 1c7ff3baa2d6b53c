/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread of the job writes a small part when the journal is crowded: the writer gets too little
 * processor time, and records that find no chunk are lost.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/private_stack.h"
#include "base/fpenv.h"
#include "base/thread.h"
#include "session/state.h"
#include "writer/output.h"
#include "writer/role.h"
#include "writer/writer.h"

/* Makes one small pass. Caller has the role. */
static enum writer_help write_a_little(void)
{
	_Atomic uint64_t *space = &session.journal.head->free_chunks;
	uint64_t before = atomic_load_explicit(space, memory_order_relaxed);
	struct fpenv env;
	int more;

	if (!session_is_on() || atomic_load(&output.stop) || atomic_load(&output.failed))
		return HELP_USELESS;
	fpenv_enter(&env);
	clock_update(&session.journal.head->clock, &output.clock_settled);
	more = drain_one_pass(&output.drain, DRAIN_TEXT_LIGHT, true, false);
	fpenv_leave(&env);
	if (more < 0)
		atomic_store(&output.failed, true);
	if (more < 0 || atomic_load_explicit(space, memory_order_relaxed) <= before)
		return HELP_USELESS;
	atomic_fetch_add_explicit(&output.helped, 1, memory_order_relaxed);
	return HELP_WRITTEN;
}

/*
 * Signals and cancellation are blocked: a signal handler that leaves by longjmp(), or a cancelled
 * thread, would keep the role.
 */
static void run_pass_on_private_stack(void *arg)
{
	enum writer_help *done = arg;
	sigset_t all, before;
	int cancel;

	if (role_holder()) {
		atomic_store(&output.hurry, 1);
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (role_take_now()) {
		*done = write_a_little();
		output_release();
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_setcancelstate(cancel, NULL);
}

enum writer_help writer_help(void)
{
	enum writer_help done = HELP_TAKEN;
	int err = errno;

	thread_state.busy++;
	private_stack_call(run_pass_on_private_stack, &done);
	thread_state.busy--;
	errno = err;
	return done;
}
