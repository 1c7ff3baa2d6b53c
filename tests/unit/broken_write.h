/* SPDX-License-Identifier: Apache-2.0 */
/* For tests linked with --wrap=write: the fail_at-th write() stops in the middle with ENOSPC, the kill_at-th kills the process. */
#ifndef PROBE_TESTS_BROKEN_WRITE_H
#define PROBE_TESTS_BROKEN_WRITE_H

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "core_helper.h"

static unsigned fail_at, kill_at, writes;

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	writes++;
	if (writes != fail_at && writes != kill_at)
		return __real_write(fd, buf, n);
	assert_true(__real_write(fd, buf, n / 2) >= 0);
	if (writes == kill_at)
		kill(getpid(), SIGKILL);
	errno = ENOSPC;
	return -1;
}

#endif
