/* SPDX-License-Identifier: Apache-2.0 */
/* From READY to ON: makes everything that recording needs, at the first call to be recorded. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/private_stack.h"
#include "base/clock.h"
#include "base/log.h"
#include "call/recorder.h"
#include "call/stackid.h"
#include "call/step.h"
#include "session/identity.h"
#include "life/alert_actions.h"
#include "life/last_words.h"
#include "life/life.h"
#include "session/state.h"
#include "folder/owner.h"
#include "writer/output.h"
#include "writer/writer.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* Only glibc has it; without it nothing is recorded. */
extern int on_exit(void (*fn)(int, void *), void *arg) __attribute__((weak));

static void record_status(int code, void *arg)
{
	(void)arg;
	if (getpid() == session.pid)
		record_exit_code(code);
}

static void handle_quick_exit(void)
{
	record_quick_exit();
	session_end();
}

static void init_process_once(void)
{
	static bool done;

	if (done)
		return;
	done = true;
	thread_init();
	at_quick_exit(handle_quick_exit);
	if (on_exit)
		on_exit(record_status, NULL);

	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, 4096, MADV_WIPEONFORK) == 0) {
		*(volatile uint32_t *)page = 1;
		session.alive = page;
		session.wiped = true;
	} else {
		munmap(page, 4096);
	}
}

static void set_process_identity(void)
{
	struct identity id;

	identity_read(&id);
	if (session.world_rank < 0) {
		session.world_rank = id.rank;
		session.world_size = id.size;
	}
	memcpy(session.run, id.run, sizeof(session.run));
	log_rank_set(session.world_rank);
}

static bool start_recording(void)
{
	owner_self(&session.owner);
	session.pid = (pid_t)session.owner.pid;
	clock_init(&session.clock);
	set_process_identity();
	if (!writer_open(step_now()))
		return false;
	/* Set only now: alerts in an earlier run's journal must not cause actions. */
	alert_actions_set();
	stack_id_set_first(output.resumed.last_stack);
	init_process_once();
	session_statistics();
	session_write_description();
	return true;
}

static void start_once(void *arg)
{
	int cancel;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&session.lock);
	if (atomic_load(&session.phase) == SESSION_READY) {
		bool ok = start_recording();

		if (ok) {
			atomic_store_explicit(&session.phase, SESSION_ON, memory_order_release);
			writer_start();
		} else {
			session_set_final_phase(SESSION_OFF);
		}
	}
	pthread_mutex_unlock(&session.lock);
	pthread_setcancelstate(cancel, NULL);
}

bool life_start(void)
{
	private_stack_call(start_once, NULL);
	return atomic_load(&session.phase) == SESSION_ON;
}
