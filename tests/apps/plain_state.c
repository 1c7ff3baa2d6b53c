/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program without MPI that prints what it finds at its start and what the dynamic linker answers: plain_state. With a
 * library preloaded that keeps out of its way every line is the same. `plain_state late` looks once more, at exit;
 * `plain_state names NAME...` says which of those exist.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Names that exist in libc, libm, nowhere, or in an MPI that this program does not have. */
static const char *const names[] = {"malloc", "free", "calloc", "realloc", "memcpy", "memset",
	"strlen", "strcmp", "printf", "fprintf", "fopen", "fclose", "open", "close", "read",
	"write", "mmap", "munmap", "fork", "vfork", "exit", "getenv", "setenv", "dlerror", "dladdr",
	"pthread_create", "pthread_join", "pthread_mutex_lock", "sigaction", "qsort", "getpid",
	"time", "clock_gettime", "nanosleep", "select", "poll", "socket", "stdout", "environ",
	"cos", "pow", "zlibVersion", "inflate", "yaml_parser_parse", "ffi_call",
	"_Unwind_Backtrace", "MPI_Barrier", "MPI_Allreduce", "PMPI_Allreduce", "MPI_Init",
	"MPI_Pcontrol", "PMPI_Pcontrol", "ncclAllReduce", "no_such_function"};

static void show(const char *scope, void *handle)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *p = dlsym(handle, names[i]);
		const char *err = dlerror(), *slash;
		Dl_info info;

		if (!p) {
			printf("%s %s: %s\n", scope, names[i], err ? err : "no error");
		} else if (dladdr(p, &info) && info.dli_fname) {
			slash = strrchr(info.dli_fname, '/');
			printf("%s %s: %s%s\n", scope, names[i], slash ? slash + 1 : info.dli_fname,
				err ? err : "");
		}
	}
}

/* Which of these names exist, in the ways that a program may ask. */
static int ask(char **name)
{
	void *program = dlopen(NULL, RTLD_LAZY);

	for (; *name; name++)
		printf("%s %d %d %d\n", *name, dlsym(RTLD_DEFAULT, *name) != NULL,
			dlsym(RTLD_NEXT, *name) != NULL, dlsym(program, *name) != NULL);
	return 0;
}

static void look(void)
{
	char path[64], to[4096];
	sigset_t mask;
	struct rlimit limit;
	mode_t mask_of_files = umask(0);

	umask(mask_of_files);
	printf("cwd %s umask %o\n", getcwd(to, sizeof(to)) ? to : "?", (unsigned)mask_of_files);
	for (int fd = 0; fd < 1024; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n >= 0)
			printf("fd %d\n", fd);
	}
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int s = 1; s < 65; s++) {
		struct sigaction a;

		if (sigismember(&mask, s) == 1)
			printf("signal %d is blocked\n", s);
		if (!sigaction(s, NULL, &a) && a.sa_handler != SIG_DFL)
			printf("signal %d has a handler\n", s);
	}
	printf("exceptions %x round %x traps %x\n", (unsigned)fetestexcept(FE_ALL_EXCEPT),
		(unsigned)fegetround(), (unsigned)fegetexcept());
	getrlimit(RLIMIT_NOFILE, &limit);
	printf("descriptors %llu\n", (unsigned long long)limit.rlim_cur);
}

int main(int argc, char **argv)
{
	int at_start = errno;
	const char *pending = dlerror();
	void *m;

	if (argc > 1 && !strcmp(argv[1], "names"))
		return ask(argv + 2);
	printf("errno %d dlerror %s\n", at_start, pending ? pending : "none");
	if (argc > 1 && !strcmp(argv[1], "late"))
		atexit(look);
	look();
	show("default", RTLD_DEFAULT);
	show("next", RTLD_NEXT);
	show("program", dlopen(NULL, RTLD_LAZY));
	m = dlopen("libm.so.6", RTLD_LAZY | RTLD_LOCAL);
	if (m)
		show("libm", m);
	/* Libraries have been loaded meanwhile, and our configuration with them. */
	show("default, later", RTLD_DEFAULT);
	printf("version: %d\n", dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_2.14") != NULL);
	printf("no such version: %d\n", dlvsym(RTLD_DEFAULT, "memcpy", "GLIBC_9.99") != NULL);
	return argc > 1 && !strcmp(argv[1], "late") ? 3 : 0;
}
