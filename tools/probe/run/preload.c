/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/run/preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/probe/run/sanitizer.h"
#include "base/io.h"
#include "tools/probe/run/stubs.h"
#include "tools/lib/tool.h"

#define NAME "libprobe.so"

/* ---- the library ---- */

static char *copy_readable_path(char *path)
{
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

static char *find_library(void)
{
	static const char *const below[] = {"", "../lib/", "../lib64/", "../lib/x86_64-linux-gnu/",
		"../lib/aarch64-linux-gnu/"};
	const char *self = tool_get_own_path(), *slash = strrchr(self, '/');
	char *path = NULL, *full;

	for (unsigned i = 0; slash && i < sizeof(below) / sizeof(*below) && !path; i++)
		path = copy_readable_path(
			tool_format("%.*s%s" NAME, (int)(slash + 1 - self), self, below[i]));
	full = path ? realpath(path, NULL) : NULL;
	if (!full)
		return path;
	free(path);
	return full;
}

const char *preload_get_config_base(void)
{
	static char *path;

	if (!path) {
		const char *named = getenv("PROBE_LIBRARY");

		path = named && *named ? tool_get_absolute_path(named) : find_library();
	}
	return path ? path : tool_get_own_path();
}

/* Extracts the reason from the loader's message: "... cannot be preloaded (REASON): ignored." */
static char *find_reason(char *message)
{
	static const char before[] = "cannot be preloaded (";
	char *at = strstr(message, before), *end;

	if (!at)
		return NULL;
	at += strlen(before);
	end = strstr(at, "): ignored");
	if (end)
		*end = 0;
	return at;
}

/*
 * Runs in the child: starts this command again with the library in LD_PRELOAD, only to print its
 * version.
 */
static _Noreturn void start_preloaded(const char *value, int output_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setenv("LD_PRELOAD", value, 1);
	setenv("PROBE_DISABLE", "1", 1);
	unsetenv("LD_DEBUG");
	if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(output_fd, STDERR_FILENO) >= 0)
		execl("/proc/self/exe", "probe", "--version", (char *)NULL);
	_exit(0); /* no message: the preload may work */
}

/* Reads everything from fd into text, and drops the rest if it is longer than text. */
static void read_message(int fd, char *text, size_t cap)
{
	char rest[512];
	size_t n = 0;
	ssize_t k;

	while ((k = n < cap - 1 ? read(fd, text + n, cap - 1 - n) : read(fd, rest, sizeof(rest))) >
		0)
		n += n < cap - 1 ? (size_t)k : 0;
	text[n] = 0;
}

/*
 * Preloads the library into a separate process, as the command will be started. A dlopen() in this
 * process would not show the same errors: it has less memory for thread-local storage. Returns the
 * loader's message, or NULL if the preload works.
 */
static char *check_preload(const char *path)
{
	char text[4096] = "", *runtime = sanitizer_find_runtime(tool_get_own_path()), *value, *why;
	int p[2], status = 0;
	pid_t child;

	if (pipe2(p, O_CLOEXEC) < 0) {
		free(runtime);
		return NULL;
	}
	value = runtime ? tool_format("%s:%s", runtime, path) : tool_strdup(path);
	fflush(NULL);
	child = fork();
	if (child == 0)
		start_preloaded(value, p[1]);
	close(p[1]);
	if (child > 0) {
		read_message(p[0], text, sizeof(text));
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(p[0]);
	free(value);
	free(runtime);
	why = find_reason(text);
	if (!why && status)
		why = *text ? text : strcpy(text, "a program does not start with it");
	if (why)
		why[strcspn(why, "\n")] = 0;
	return why ? tool_strdup(why) : NULL;
}

char *preload_find_library(void)
{
	const char *named = getenv("PROBE_LIBRARY");
	char *path = named && *named ? tool_get_absolute_path(named) : find_library(), *why;

	if (!path) {
		tool_error(NAME " is neither beside %s nor in ../lib; build it with `make`, or set "
				"PROBE_LIBRARY to its path",
			tool_get_own_path());
		return NULL;
	}
	if (strpbrk(path, ": \t")) {
		tool_error("%s: LD_PRELOAD cannot hold a path with blanks or colons; set "
			   "PROBE_LIBRARY to a link without them",
			path);
		free(path);
		return NULL;
	}
	why = check_preload(path);
	if (!why)
		return path;
	/* The loader usually begins the message with the path. */
	if (strstr(why, path))
		tool_error("%s", why);
	else
		tool_error("%s: %s", path, why);
	free(why);
	free(path);
	return NULL;
}

/* Returns true for a stub object that an outer `probe run` has put into LD_PRELOAD. */
static bool is_stub_object(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, STUBS_PREFIX, strlen(STUBS_PREFIX)) == 0;
}

static char *add_to_path_list(char *list, const char *path)
{
	char *more = *list ? tool_format("%s:%s", list, path) : tool_strdup(path);

	free(list);
	return more;
}

char *preload_format_value(const char *library, const char *stubs, const char *runtime)
{
	const char *was = getenv("LD_PRELOAD");
	char *first = tool_strdup(runtime ? runtime : ""), *rest = tool_strdup("");
	char *copy = tool_strdup(was ? was : ""), *save = NULL;

	for (char *p = strtok_r(copy, ": ", &save); p; p = strtok_r(NULL, ": ", &save)) {
		if (strcmp(p, library) == 0 || is_stub_object(p) ||
			(runtime && !strcmp(p, runtime)))
			continue;
		if (sanitizer_is_runtime(p))
			first = add_to_path_list(first, p);
		else
			rest = add_to_path_list(rest, p);
	}
	free(copy);
	first = add_to_path_list(first, library);
	if (stubs)
		first = add_to_path_list(first, stubs);
	if (*rest)
		first = add_to_path_list(first, rest);
	free(rest);
	return first;
}

/* ---- the command ---- */

char *preload_find_command(const char *name)
{
	const char *path = getenv("PATH");
	char *copy, *found = NULL, *save = NULL;
	struct stat st;

	if (strchr(name, '/'))
		return access(name, F_OK) == 0 ? tool_strdup(name) : NULL;
	copy = tool_strdup(path ? path : "/usr/local/bin:/usr/bin:/bin");
	for (char *p = strtok_r(copy, ":", &save); p && !found; p = strtok_r(NULL, ":", &save)) {
		found = tool_format("%s/%s", p, name);
		if (access(found, X_OK) < 0 || stat(found, &st) < 0 || !S_ISREG(st.st_mode)) {
			free(found);
			found = NULL;
		}
	}
	free(copy);
	return found;
}

/*
 * Returns the name of the command if it starts other programs without its environment (sudo, ssh, env -i),
 * else NULL.
 */
static const char *find_environment_dropper(const char *const *argv)
{
	static const char *const names[] = {
		"sudo", "su", "doas", "ssh", "docker", "podman", "nerdctl"};
	const char *base = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(base, names[i]) == 0)
			return names[i];
	for (unsigned i = 1; strcmp(base, "env") == 0 && argv[i] && argv[i][0] == '-'; i++)
		if (strcmp(argv[i], "-i") == 0 || strcmp(argv[i], "-") == 0 ||
			strcmp(argv[i], "--ignore-environment") == 0)
			return "env -i";
	return NULL;
}

/* Returns true for setuid, setgid and the like: the loader ignores LD_PRELOAD in such a program. */
static bool is_privileged_program(const char *path, const struct stat *st)
{
	if ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
		(st->st_mode & S_ISGID && st->st_gid != getegid()))
		return true;
	return geteuid() && getxattr(path, "security.capability", NULL, 0) > 0;
}

/*
 * Returns a problem if the program uses another C library than glibc, which the name of its loader
 * shows. Such a loader loads libprobe.so, but the library then does nothing.
 */
static const char *check_program_libc(const unsigned char *head, size_t n, const Elf64_Phdr *interp)
{
	static const char musl[] = "/ld-musl-";

	if (interp->p_offset > n || interp->p_filesz > n - interp->p_offset ||
		!memmem(head + interp->p_offset, interp->p_filesz, musl, strlen(musl)))
		return NULL;
	return "it is linked against musl; libprobe.so records only programs that are linked "
	       "against glibc";
}

/*
 * Returns why an ELF file cannot be preloaded, or NULL if it can. A file that begins with #!: line
 * is its first line.
 */
static const char *check_elf_file(const char *path, char *line, size_t cap)
{
	unsigned char head[4096];
	int fd = io_open_regular(AT_FDCWD, path, O_RDONLY, 0);
	ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof(head));
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)head;

	if (fd >= 0)
		close(fd);
	line[0] = 0;
	if (n > 2 && head[0] == '#' && head[1] == '!') {
		snprintf(line, cap, "%.*s", (int)(n - 2), (const char *)head + 2);
		line[strcspn(line, "\n")] = 0;
		return NULL;
	}
	if (n < (ssize_t)sizeof(*e) || memcmp(head, ELFMAG, SELFMAG))
		return NULL;
	if (e->e_ident[EI_CLASS] != ELFCLASS64)
		return "it is a 32-bit program and libprobe.so is a 64-bit library";
#if defined(__x86_64__)
	if (e->e_machine != EM_X86_64)
		return "it is a program for another processor";
#elif defined(__aarch64__)
	if (e->e_machine != EM_AARCH64)
		return "it is a program for another processor";
#endif
	for (unsigned i = 0; i < e->e_phnum; i++) {
		size_t at = e->e_phoff + (size_t)i * sizeof(Elf64_Phdr);

		if (at + sizeof(Elf64_Phdr) > (size_t)n)
			return NULL;
		if (((const Elf64_Phdr *)(head + at))->p_type == PT_INTERP)
			return check_program_libc(head, (size_t)n, (const Elf64_Phdr *)(head + at));
	}
	return "it is linked statically, so a preloaded library cannot replace its functions";
}

/* Returns the program in "#! /usr/bin/env python3" (the word after env), or NULL. malloc'd. */
static char *parse_script_interpreter(char *line)
{
	char *save = NULL, *word = strtok_r(line, " \t", &save), *base;

	if (!word)
		return NULL;
	base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;
	if (strcmp(base, "env") == 0)
		do
			word = strtok_r(NULL, " \t", &save);
		while (word && (word[0] == '-' || strchr(word, '=')));
	return word ? preload_find_command(word) : NULL;
}

char *preload_find_program(const char *name)
{
	char line[256], *path = preload_find_command(name), *next;

	for (int depth = 0; path && depth < 4; depth++) {
		check_elf_file(path, line, sizeof(line));
		if (!line[0])
			return path;
		next = parse_script_interpreter(line);
		free(path);
		path = next;
	}
	free(path);
	return NULL;
}

char *preload_check_command(const char *const *argv)
{
	const char *name = find_environment_dropper(argv);
	char line[256], *path, *next, *why = NULL;

	if (name)
		return tool_format("%s does not pass on the environment; put `probe run` after "
				   "it: %s ... probe run ...",
			name, name);
	path = preload_find_command(argv[0]);
	for (int depth = 0; path && depth < 4; depth++) {
		struct stat st;
		const char *problem = check_elf_file(path, line, sizeof(line));

		if (problem)
			why = tool_format("%s: %s", path, problem);
		else if (!line[0] && stat(path, &st) == 0 && is_privileged_program(path, &st))
			why = tool_format(
				"%s: it runs with the rights of another user or group, and "
				"the loader then ignores LD_PRELOAD",
				path);
		if (why || !line[0])
			break;
		next = parse_script_interpreter(line);
		free(path);
		path = next;
	}
	free(path);
	return why;
}
