/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process with a custom.yaml of its own: the file is read once per process, so each case is a child. What it prints
 * as messages is kept in `heard`.
 */
#ifndef TESTS_UNIT_CUSTOM_HELPER_H
#define TESTS_UNIT_CUSTOM_HELPER_H

#include "session_helper.h"

#include <sys/wait.h>

#include "base/environment.h"
#include "base/log.h"
#include "elf/loaded/object_at.h"
#include "entry/check_file.h"
#include "entry/stubs/provider.h"
#include "session/generation_pair.h"

const unsigned api_count = 0;

struct api *api_get(unsigned i)
{
	(void)i;
	return NULL;
}

void api_fill(void)
{
}

static const struct kind test_kinds[] = {
	{.name = "barrier", .op = "barrier", .collective = true},
	{.name = "allreduce",
		.op = "all_reduce",
		.collective = true,
		.nin = 1,
		.in = {{EXT_PRODUCT, ON_ALL, ROLE_SEND, ROLE_SDTYPE, .term = {ROLE_COUNT},
			.nterm = 1}},
		.nout = 1,
		.out = {{EXT_PRODUCT, ON_ALL, ROLE_RECV, ROLE_RDTYPE, .term = {ROLE_COUNT},
			.nterm = 1}}},
	{.name = "allgather",
		.op = "all_gather",
		.collective = true,
		.nin = 1,
		.in = {{EXT_PRODUCT, ON_ALL, ROLE_SEND, ROLE_SDTYPE, .term = {ROLE_SCOUNT},
			.nterm = 1}},
		.nout = 1,
		.out = {{EXT_PRODUCT, ON_ALL, ROLE_RECV, ROLE_RDTYPE,
			.term = {ROLE_RCOUNT, TERM_SIZE}, .nterm = 2}}},
	{.name = "allreduce_inplace",
		.op = "all_reduce",
		.collective = true,
		.nin = 1,
		.in = {{EXT_PRODUCT, ON_ALL, ROLE_BUF, ROLE_DTYPE, .term = {ROLE_COUNT},
			.nterm = 1}},
		.nout = 1,
		.out = {{EXT_PRODUCT, ON_ALL, ROLE_BUF, ROLE_DTYPE, .term = {ROLE_COUNT},
			.nterm = 1}}},
};
const struct kind *const kind_table = test_kinds;
const unsigned kind_count = sizeof(test_kinds) / sizeof(test_kinds[0]);

static char custom_file[64], heard_file[64];
static char *custom_env[2];

bool check_wanted(void)
{
	return false;
}

bool session_configure(void)
{
	return true;
}

char *const *startup_get_environment(void)
{
	return custom_env;
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
	return "/nowhere/lib/libprobe.so";
}

static unsigned failures;

#define CHECK(x)                                                               \
	do {                                                                   \
		if (!(x)) {                                                    \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			failures++;                                            \
		}                                                              \
	} while (0)

static inline void ignore_line(void *arg, const char *line)
{
	(void)arg;
	printf("list: %s\n", line);
	failures++;
}

static inline void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		abort();
}

/* The messages so far. */
static inline const char *heard(void)
{
	static char *text;
	size_t n;

	free(text);
	text = read_test_file(heard_file, &n);
	return text ? text : "";
}

static inline bool hears(const char *what)
{
	if (strstr(heard(), what))
		return true;
	printf("did not hear: %s\nbut:\n%s", what, heard());
	return false;
}

/* Runs fn in a child whose custom.yaml is `yaml` (NULL: none) and whose list is `list`. */
static inline void with(const char *yaml, const char *list, void (*fn)(void))
{
	int status;
	pid_t pid;

	snprintf(custom_file, sizeof(custom_file), "/tmp/probe-custom-%d.yaml", (int)getpid());
	snprintf(heard_file, sizeof(heard_file), "/tmp/probe-custom-%d.err", (int)getpid());
	if (yaml)
		write_text(custom_file, yaml);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int fd = open(heard_file, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);

		dup2(fd, 2);
		generation_first.cfg.custom_apis = yaml ? custom_file : NULL;
		generation_first.running.list =
			wraplist_load_text("list.yaml", list, strlen(list), ignore_line, NULL);
		session.phase = SESSION_READY;
		log_level_set(1);
		fn();
		fflush(NULL);
		_exit(failures != 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	unlink(custom_file);
	if (status)
		fail_msg("the child ended with status %#x", status);
	unlink(heard_file);
}

#endif
