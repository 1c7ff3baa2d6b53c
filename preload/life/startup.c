/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constructor and destructor. Every shell, launcher and compiler that inherits the preload runs them: they read
 * the environment and the working directory, into static memory, find one lock (loader_lock.h), and nothing else.
 */
#include <errno.h>
#include <sys/auxv.h>

#include "entry/check_file.h"
#include "entry/early.h"
#include "elf/loaded/loader_lock.h"
#include "entry/stubs/stub.h"
#include "base/environment.h"
#include "base/thread.h"
#include "call/step.h"
#include "life/life.h"
#include "session/state.h"

/* Other C libraries than glibc lack this function, and much of libprobe depends on glibc. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void start_process(void)
{
	int err = errno;

	/*
	 * Another C library: the hooks' gate (entry/early.h) stays closed, and wrappers call the
	 * real function.
	 */
	if (!gnu_get_libc_version) {
		session_set_final_phase(SESSION_OFF);
		return;
	}
	/*
	 * Privileged programs (setuid, file capabilities) load libprobe only through
	 * /etc/ld.so.preload: the environment then belongs to a user who must not make them write
	 * files.
	 */
	if (getauxval(AT_SECURE)) {
		session_set_final_phase(SESSION_OFF);
		return;
	}
	startup_copy_environment();
	loader_lock_follow_forks();
	entry_open();
	errno = err;
}

__attribute__((destructor)) static void handle_process_end(void)
{
	if (!entry_is_open())
		return;
	/* Without a folder, its reader would not learn that the settings chose nothing. */
	if (atomic_load(&session.left_out) && session_has_excluded_all()) {
		thread_state.busy++;
		if (life_start())
			step_write();
		thread_state.busy--;
	}
	session_end();
	check_write();
	stub_file_write();
}
