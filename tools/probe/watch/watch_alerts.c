/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/probe/watch/watch_alerts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/io.h"
#include "text/text.h"
#include "tools/lib/out.h"
#include "tools/lib/tool.h"
#include "tools/probe/model/read/alert_lines.h"

#define WATCH_FILE "watch.json"

struct watch_alerts {
	const char *dir, *command;
	uint64_t *known; /* alerts that were reported, as hashes of folder and id */
	unsigned n, cap;
	struct seen_file {
		uint64_t name, dev, ino;
		struct timespec changed;
	} * file;
	unsigned nfile, cap_file;
};

struct watch_alerts *watch_alerts_init(const char *dir, const char *command)
{
	struct watch_alerts *w = tool_alloc(sizeof(*w));

	w->dir = dir;
	w->command = command;
	return w;
}

void watch_alerts_free(struct watch_alerts *w)
{
	free(w->known);
	free(w->file);
	free(w);
}

static int open_watched(const struct watch_alerts *w)
{
	return open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void watch_alerts_write_mark(const struct watch_alerts *w)
{
	char host[80] = "", buf[512];
	struct text t = text_init(buf, sizeof(buf));
	int fd, err;

	/* Without a command nothing is started. */
	if (!w->command)
		return;
	gethostname(host, sizeof(host) - 1);
	text_add_string(&t, "{\"host\": ");
	text_add_json(&t, host);
	text_add_format(
		&t, ", \"pid\": %d, \"unix_s\": %lld}\n", (int)getpid(), (long long)time(NULL));
	fd = open_watched(w);
	err = fd < 0 ? -errno : io_replace_file(fd, WATCH_FILE, buf, t.len);
	if (fd >= 0)
		close(fd);
	if (err) {
		static bool said;

		if (!said)
			tool_warn("watch: %s/" WATCH_FILE
				  ": %s: alerts will say that there is no watcher",
				w->dir, io_error_text(err));
		said = true;
	}
}

void watch_alerts_remove_mark(const struct watch_alerts *w)
{
	int fd = w->command ? open_watched(w) : -1;

	if (fd < 0)
		return;
	unlinkat(fd, WATCH_FILE, 0);
	close(fd);
}

/*
 * Writes the line to the command's standard input. Text of the job never becomes an argument or a
 * variable.
 */
static void start_alert_command(const struct watch_alerts *w, const char *line)
{
	int fd[2];
	pid_t pid;
	size_t n = strlen(line);

	fflush(stdout);
	if (pipe2(fd, O_CLOEXEC)) {
		tool_warn("watch: %s was not started: %s", w->command, strerror(errno));
		return;
	}
	pid = fork();
	if (pid < 0) {
		tool_warn("watch: %s was not started: %s", w->command, strerror(errno));
	} else if (!pid) {
		dup2(fd[0], 0);
		signal(SIGPIPE, SIG_DFL);
		setenv("PROBE_FINDING_KIND", "alert", 1);
		setenv("PROBE_FINDING_DIR", w->dir, 1);
		execl("/bin/sh", "sh", "-c", w->command, (char *)NULL);
		_exit(127);
	}
	close(fd[0]);
	/*
	 * The line is shorter than the pipe's buffer, so a command that does not read it cannot
	 * block this process.
	 */
	if (pid > 0 && n < 32768) {
		io_write_all(fd[1], line, n);
		io_write_all(fd[1], "\n", 1);
	}
	close(fd[1]);
}

static bool is_alert_new(struct watch_alerts *w, uint64_t key)
{
	for (unsigned i = 0; i < w->n; i++)
		if (w->known[i] == key)
			return false;
	TOOL_GROW(w->known, w->n, w->cap);
	w->known[w->n++] = key;
	return true;
}

struct new_alerts {
	struct watch_alerts *watch;
	const char *folder;
	bool once, found;
};

static void print_new_alert(void *arg, const struct alert_line *a)
{
	struct new_alerts *t = arg;
	const char *command = t->watch->command;
	time_t now = time(NULL);
	struct tm tm;

	if ((t->once && t->found) || !*a->id ||
		!is_alert_new(t->watch, hash_str(hash_str(1, t->folder), a->id)))
		return;
	t->found = true;
	localtime_r(&now, &tm);
	printf("%02d:%02d:%02d alert: %s: ", tm.tm_hour, tm.tm_min, tm.tm_sec, t->folder);
	out_print_clean(a->text);
	putchar('\n');
	fflush(stdout);
	if (command && strstr(a->action, "exec: "))
		start_alert_command(t->watch, a->json);
}

/* Returns true if the file has changed since it was last read. */
static bool is_file_new(struct watch_alerts *w, const char *folder, const struct stat *st)
{
	uint64_t name = hash_str(2, folder);
	struct seen_file now = {name, (uint64_t)st->st_dev, (uint64_t)st->st_ino, st->st_mtim};

	for (unsigned i = 0; i < w->nfile; i++) {
		struct seen_file *f = &w->file[i];

		if (f->name != name)
			continue;
		if (f->dev == now.dev && f->ino == now.ino &&
			f->changed.tv_sec == now.changed.tv_sec &&
			f->changed.tv_nsec == now.changed.tv_nsec)
			return false;
		*f = now;
		return true;
	}
	TOOL_GROW(w->file, w->nfile, w->cap_file);
	w->file[w->nfile++] = now;
	return true;
}

static bool read_new_alerts(struct watch_alerts *w, const char *folder, bool once)
{
	char *dir = *folder ? tool_format("%s/%s", w->dir, folder) : tool_strdup(w->dir),
	     *path = tool_format("%s/alerts.jsonl", dir);
	struct new_alerts t = {.watch = w, .folder = folder, .once = once};
	struct stat st;

	if (stat(path, &st) == 0 && is_file_new(w, folder, &st))
		read_alert_lines(dir, print_new_alert, &t);
	free(path);
	free(dir);
	return t.found;
}

/* Returns true for a folder of this run. Folders of earlier runs have a dot in their name: rank0.1. */
static bool is_rank_name(const char *name)
{
	return (strncmp(name, "rank", 4) == 0 || strncmp(name, "host-", 5) == 0) &&
	       !(strncmp(name, "rank", 4) == 0 && strchr(name, '.'));
}

static int compare_folder_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool watch_alerts_read(struct watch_alerts *w, bool once)
{
	DIR *d = opendir(w->dir);
	char **name = NULL;
	unsigned n = 0, cap = 0;
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		if (!is_rank_name(e->d_name))
			continue;
		TOOL_GROW(name, n, cap);
		name[n++] = tool_strdup(e->d_name);
	}
	if (d)
		closedir(d);
	if (n)
		qsort(name, n, sizeof(*name), compare_folder_names);
	else
		found = read_new_alerts(w, "", once);
	for (unsigned i = 0; i < n; i++) {
		if (!(once && found))
			found |= read_new_alerts(w, name[i], once);
		free(name[i]);
	}
	free(name);
	return found;
}
