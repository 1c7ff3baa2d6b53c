/* SPDX-License-Identifier: Apache-2.0 */
/* A whole session in a process of its own, for each test: what the constructor does is done here. */
#ifndef TESTS_UNIT_SESSION_CHILD_H
#define TESTS_UNIT_SESSION_CHILD_H

#include "core_helper.h"

/* In this file, where a test can reach what is static there. */
#include "session/state.c"
#include "life/configure.c"
#include "life/describe_process.c"
#include "life/end.c"
#include "life/fork.c"
#include "life/hooks.c"
#include "life/rank.c"
#include "life/start.c"
#include "life/stats_setup.c"
#include "writer/flush.c"
#include "writer/help.c"
#include "writer/output.c"
#include "writer/writer.c"

#include "call/record.h"

#include <poll.h>
#include <sys/wait.h>

static const struct adapter lib = {.name = "mpi"};
static const struct kind kind_send = {.name = "send", .op = "send"};
static const struct api_spec spec = {
	.symbol = "MPI_Send", .list_name = "MPI_Send", .lib = &lib, .kind = &kind_send};

static struct api api_table[1] = {{.spec = &spec, .word = API_LISTED}};
const unsigned api_count = 1;

struct api *api_get(unsigned i)
{
	return &api_table[i];
}

/* The rows above are whole. */
void api_fill(void)
{
}

struct api *api_find(const char *symbol)
{
	(void)symbol;
	return NULL;
}

void *api_wrapper(const struct api *a)
{
	(void)a;
	return NULL;
}

/* Symbols of entry/, which no code here uses. */
__attribute__((visibility("hidden"))) char bound_stubs[1];
__attribute__((visibility("hidden"))) void bound_enter(void);
const struct kind *const kind_table = &kind_send;
const unsigned kind_count = 1;

void bound_enter(void)
{
}

static char out[64];
static char *env[16];
static const char *cmdline;
static size_t cmdline_bytes;
static bool no_threads;
static bool lame_threads; /* are made, and never run */

char *const *startup_get_environment(void)
{
	return env;
}

const char *startup_find_variable(const char *name)
{
	size_t n = strlen(name);

	for (char *const *e = startup_get_environment(); *e; e++)
		if (strncmp(*e, name, n) == 0 && (*e)[n] == '=' && (*e)[n + 1])
			return *e + n + 1;
	return NULL;
}

const char *startup_get_cwd(void)
{
	return "/";
}

const char *own_path_get(void)
{
	return "";
}

ssize_t __real_io_read_file(int dirfd, const char *path, void *buf, size_t cap);
ssize_t __wrap_io_read_file(int dirfd, const char *path, void *buf, size_t cap);

ssize_t __wrap_io_read_file(int dirfd, const char *path, void *buf, size_t cap)
{
	if (!cmdline || strcmp(path, "/proc/self/cmdline"))
		return __real_io_read_file(dirfd, path, buf, cap);
	if (cap > cmdline_bytes)
		cap = cmdline_bytes;
	memcpy(buf, cmdline, cap);
	return (ssize_t)cap;
}

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
	if (lame_threads)
		return 0;
	return no_threads ? EAGAIN : __real_pthread_create(t, a, fn, arg);
}

/* ---- each test in a child of its own ---- */

#define CHECK(x)                                                                          \
	do {                                                                              \
		if (!(x)) {                                                               \
			fprintf(stderr, "# %s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			_exit(1);                                                         \
		}                                                                         \
	} while (0)

static inline void in_child(void (*fn)(void))
{
	int status;
	pid_t pid;

	make_tmp(out, sizeof(out));
	pid = fork();
	if (pid == 0) {
		int n = 0;

		for (const char *const *e = (const char *const[]){"PROBE_LOG_LEVEL=0",
			     "PROBE_JOURNAL_MIB=1", "PROBE_STACK=false", NULL};
			*e; e++)
			env[n++] = strdup(*e);
		CHECK(asprintf(&env[n], "PROBE_OUTPUT_DIR=%s", out) > 0);
		alarm(60);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	remove_tree(out);
	assert_int_equal(status, 0);
}

static inline void set(const char *assignment)
{
	int n = 0;

	while (env[n])
		n++;
	env[n] = strdup(assignment);
}

static inline bool call(void)
{
	struct operation w = {.root = JOURNAL_NONE, .peer = 1, .tag = 2};
	struct thread *t = session_configure() && session_start() ? thread_get() : NULL;
	struct journal_call *r = t ? record_open(t, &api_table[0], &w, 0, 0, 0) : NULL;

	if (r)
		record_close(r, &w, clock_ticks(), false, 0);
	return r != NULL;
}

static inline char *path_in(const char *folder, const char *name)
{
	char *p;

	CHECK(asprintf(&p, "%s/%s/%s", out, folder, name) > 0);
	return p;
}

static inline bool exists(const char *folder, const char *name)
{
	return access(path_in(folder, name), F_OK) == 0;
}

static inline size_t rows(const char *folder)
{
	struct table t = read_test_table(path_in(folder, ""));
	size_t n = t.n;

	CHECK(!t.bad);
	free_test_table(&t);
	return n;
}

static inline bool meta_says(const char *folder, const char *part)
{
	size_t n;
	char *text = read_test_file(path_in(folder, "meta.json"), &n);

	return text && strstr(text, part);
}

static inline bool meta_is_json(const char *folder)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "python3 -m json.tool <%s >/dev/null",
		path_in(folder, "meta.json"));
	return system("python3 -c 1") || system(cmd) == 0;
}

#endif
