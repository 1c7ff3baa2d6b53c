/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfault.so: makes functions of libc fail for libprobe.so only: preloaded after it, it looks at who
 * calls. FAULT is a list, joined by commas, of
 *
 *   FUNCTION:ERROR[:FIRST[:COUNT]]    calls FIRST (1) to FIRST + COUNT - 1 (all after) of libprobe.so end with that
 *                                     errno; ERROR `short`: write() and pread() take half of what they could; ERROR `kill`:
 *                                     the process is killed (SIGKILL) instead of the call
 *   fsize:BYTES                       no file may be larger (RLIMIT_FSIZE), from the moment when libprobe.so makes its folder
 *   storm                             a signal each millisecond from libprobe.so's first call on, so that system calls
 *                                     that wait end with EINTR
 *
 * FAULT_LOG: each fault is a line in this file, so that a test can tell that it happened.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { RULES = 8, SHORT = -1, KILL = -2 };

static struct rule {
	char name[32];
	int error;
	long first, count;
	_Atomic long seen;
} rules[RULES];
static int nrules, storm;
static long file_size = -1;
static uintptr_t lo, hi;
static _Atomic int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int find_probe(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	if (!strstr(info->dlpi_name, "libprobe.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		if (!lo || at < lo)
			lo = at;
		if (at + p->p_memsz > hi)
			hi = at + p->p_memsz;
	}
	return 1;
}

static void on_signal(int sig)
{
	(void)sig;
}

static void start_storm(void)
{
	struct sigaction a = {.sa_handler = on_signal}; /* without SA_RESTART */
	struct itimerval each = {{0, 1000}, {0, 1000}};

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

static void read_rules(void)
{
	const char *p = getenv("FAULT");

	dl_iterate_phdr(find_probe, NULL);
	while (p && *p && nrules < RULES) {
		struct rule *r = &rules[nrules];
		char error[16] = "";
		size_t n = strcspn(p, ",");

		r->first = 1;
		r->count = 1L << 40;
		if (strncmp(p, "storm", 5) == 0) {
			storm = 1;
		} else if (sscanf(p, "fsize:%ld", &file_size) == 1) {
			;
		} else if (sscanf(p, "%31[^:]:%15[^:,]:%ld:%ld", r->name, error, &r->first,
				   &r->count) >= 2) {
			r->error = strcmp(error, "short") == 0	? SHORT
				   : strcmp(error, "kill") == 0 ? KILL
								: atoi(error);
			nrules++;
		}
		p += n + (p[n] == ',');
	}
}

static void note(const char *name, int error)
{
	const char *path = getenv("FAULT_LOG");
	char line[64];
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path,
				O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)
		      : -1;

	if (fd < 0)
		return;
	syscall(SYS_write, fd, line, (size_t)snprintf(line, sizeof(line), "%s %d\n", name, error));
	close(fd);
}

/* 0: go on; else what is to happen to this call. */
static int fault(const char *name, const void *caller)
{
	if (!atomic_load(&ready)) {
		pthread_mutex_lock(&lock);
		if (!atomic_load(&ready))
			read_rules();
		atomic_store(&ready, 1);
		pthread_mutex_unlock(&lock);
	}
	if ((uintptr_t)caller < lo || (uintptr_t)caller >= hi)
		return 0;
	if (storm) {
		storm = 0;
		start_storm();
	}
	if (file_size >= 0 && !strcmp(name, "mkdir")) {
		struct rlimit limit = {(rlim_t)file_size, RLIM_INFINITY};

		setrlimit(RLIMIT_FSIZE, &limit);
	}
	for (int i = 0; i < nrules; i++) {
		struct rule *r = &rules[i];
		long n;

		if (strcmp(r->name, name))
			continue;
		n = atomic_fetch_add(&r->seen, 1) + 1;
		if (n < r->first || n - r->first >= r->count)
			continue;
		note(name, r->error);
		if (r->error == KILL)
			kill(getpid(), SIGKILL);
		return r->error;
	}
	return 0;
}

#define FAILING(type, name, bad, params, args)                         \
	type name params;                                              \
	type name params                                               \
	{                                                              \
		static _Atomic(void *) real;                           \
		int error = fault(#name, __builtin_return_address(0)); \
                                                                       \
		if (error > 0) {                                       \
			errno = error;                                 \
			return bad;                                    \
		}                                                      \
		if (!real)                                             \
			real = dlsym(RTLD_NEXT, #name);                \
		return ((type(*) params)real)args;                     \
	}

FAILING(int, posix_fallocate, error, (int fd, off_t at, off_t n), (fd, at, n))
FAILING(void *, mmap, MAP_FAILED, (void *a, size_t n, int prot, int flags, int fd, off_t at),
	(a, n, prot, flags, fd, at))
FAILING(int, pthread_create, error,
	(pthread_t * t, const pthread_attr_t *a, void *(*f)(void *), void *arg), (t, a, f, arg))
FAILING(int, mkdir, -1, (const char *path, mode_t mode), (path, mode))
FAILING(int, mkdirat, -1, (int dir, const char *path, mode_t mode), (dir, path, mode))
FAILING(int, linkat, -1, (int a, const char *from, int b, const char *to, int flags),
	(a, from, b, to, flags))
FAILING(int, renameat, -1, (int a, const char *from, int b, const char *to), (a, from, b, to))
FAILING(int, unlinkat, -1, (int dir, const char *path, int flags), (dir, path, flags))
FAILING(int, ftruncate, -1, (int fd, off_t n), (fd, n))
FAILING(int, shmget, -1, (key_t key, size_t n, int flags), (key, n, flags))
FAILING(ssize_t, read, -1, (int fd, void *p, size_t n), (fd, p, n))

ssize_t write(int fd, const void *p, size_t n)
{
	int error =
		fd > 2 ? fault("write", __builtin_return_address(0)) : 0; /* messages get through */

	if (error > 0) {
		errno = error;
		return -1;
	}
	return syscall(SYS_write, fd, p, error == SHORT && n > 1 ? n / 2 : n);
}

static int open_at(
	const char *name, const void *caller, int dir, const char *path, int flags, mode_t mode)
{
	int error = fault(name, caller);

	if (error > 0) {
		errno = error;
		return -1;
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_at("open", __builtin_return_address(0), AT_FDCWD, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_at("openat", __builtin_return_address(0), dir, path, flags, mode);
}

/* The loader itself allocates: no dlsym here. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);

static int no_memory(const void *caller)
{
	if (!atomic_load(&ready) && !getenv("FAULT"))
		return 0;
	return fault("malloc", caller) > 0;
}

void *malloc(size_t n)
{
	return no_memory(__builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	return no_memory(__builtin_return_address(0)) ? NULL : __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
	return no_memory(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}
