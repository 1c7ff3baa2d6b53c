/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constructor and destructor. Every shell, launcher and compiler that inherits the preload runs them: they read
 * the environment and the working directory, into static memory, find one lock (loader_lock.h), and nothing else.
 */
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "entry/check.h"
#include "entry/loader_lock.h"
#include "entry/stub.h"
#include "session.h"

#define ENV_BYTES 16384
#define ENV_MAX 128

static char env_bytes[ENV_BYTES];
static char *env_list[ENV_MAX + 1];
static char cwd[4096];
static char self_path[4096];
extern char **environ;

static void read_environment(void)
{
	size_t at = 0;
	int n = 0;

	for (char **e = environ; e && *e && n < ENV_MAX; e++) {
		size_t len = strlen(*e) + 1;

		/* HOME for ~ in paths; where the loader looks; where temporary files go. */
		if ((strncmp(*e, "PROBE_", 6) && strncmp(*e, "HOME=", 5) &&
			    strncmp(*e, "LD_LIBRARY_PATH=", 16) && strncmp(*e, "TMPDIR=", 7)) ||
			len > sizeof(env_bytes) - at)
			continue;
		memcpy(env_bytes + at, *e, len);
		env_list[n++] = env_bytes + at;
		at += len;
	}
}

__attribute__((constructor)) static void startup(void)
{
	int err = errno;

	/*
	 * Privileged programs (setuid, file capabilities) get here only through /etc/ld.so.preload: there the environment
	 * belongs to somebody who must not make them write files.
	 */
	if (getauxval(AT_SECURE)) {
		atomic_store(&session.phase, SESSION_OFF);
		return;
	}
	if (!env_list[0])
		read_environment();
	if (!getcwd(cwd, sizeof(cwd)))
		cwd[0] = 0;
	loader_lock_follow_forks();
	errno = err; /* the folder may be gone */
}

__attribute__((destructor)) static void shutdown(void)
{
	session_end();
	check_write();
	stub_file_write();
}

char *const *startup_env(void)
{
	/* A library's constructor may call a wrapper before ours has run. */
	if (!env_list[0])
		read_environment();
	return env_list;
}

const char *startup_cwd(void)
{
	if (!cwd[0] && !getcwd(cwd, sizeof(cwd)))
		cwd[0] = 0;
	return cwd[0] ? cwd : "/";
}

static int find_self(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)&find_self;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && at >= info->dlpi_addr + p->p_vaddr &&
			at < info->dlpi_addr + p->p_vaddr + p->p_memsz) {
			strncpy(self_path, info->dlpi_name, sizeof(self_path) - 1);
			return 1;
		}
	}
	return 0;
}

const char *startup_path(void)
{
	if (!self_path[0])
		dl_iterate_phdr(find_self, NULL);
	return self_path;
}
