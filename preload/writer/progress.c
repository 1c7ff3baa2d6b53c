/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/progress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/tid.h"

#define MEASURE_NS UINT64_C(900000000)
/*
 * Less than this in a second does not count as progress: threads of libraries wake up
 * occasionally, and monitors read files.
 */
#define CPU_PERCENT_MIN 2
#define IO_BYTES_MIN 16384
#define THREADS_MAX 1024u /* maximum number of threads that are read */
#define DESCENDANTS_MAX 64u
#define LIST_BYTES 4096

static uint64_t read_field(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

/* Reads the bytes moved by read() and write(). Returns false if the file cannot be read. */
static bool read_io_bytes(const char *path, uint64_t *bytes)
{
	char text[512];
	ssize_t n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = 0;
	*bytes = read_field(text, "rchar: ") + read_field(text, "wchar: ");
	return true;
}

/* A sum may fall by a byte: it contains the length of the text that was read, or lacks a process that could not be read. */
static bool has_moved_bytes(uint64_t before, uint64_t now)
{
	return now > before && now - before >= IO_BYTES_MIN;
}

/* ---- threads ---- */

struct task_entry {
	uint64_t inode, offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

/*
 * Calls take() for each thread of the process `pid` ("self": this one), at most THREADS_MAX. Does
 * not use readdir(), which allocates. Returns false if the list cannot be read.
 */
static bool read_each_thread(const char *pid, void (*take)(void *, const char *task), void *arg)
{
	char path[64], buf[LIST_BYTES] __attribute__((aligned(8)));
	unsigned threads = 0;
	long n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0 && threads < THREADS_MAX)
		for (long at = 0; at < n && threads < THREADS_MAX;) {
			const struct task_entry *e = (const struct task_entry *)(buf + at);

			at += e->bytes;
			if (e->name[0] == '.')
				continue;
			threads++;
			snprintf(path, sizeof(path), "/proc/%s/task/%.20s", pid, e->name);
			take(arg, path);
		}
	close(fd);
	return n >= 0;
}

/* ---- the process tree ---- */

struct tree {
	bool busy; /* a thread runs, waits for a core or for a disk */
	bool listed; /* descendants can be seen on this kernel */
	const char *own; /* the caller's thread, which is not counted */
	long pid[DESCENDANTS_MAX];
	unsigned n;
	uint64_t ticks, io_bytes, born; /* of descendants; born: sum of their pids */
};

/*
 * Reads `stat` and returns the fields after the name, which may contain spaces and parentheses.
 * Returns NULL if the process has ended.
 */
static const char *read_stat(const char *folder, char *text, size_t cap)
{
	char path[80], *end;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/stat", folder);
	n = io_read_file(AT_FDCWD, path, text, cap - 1);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	return end && end[1] ? end + 2 : NULL;
}

static void add_children(void *arg, const char *task)
{
	struct tree *t = arg;
	char path[96], text[1024], *at = text, *end;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/children", task);
	n = io_read_file(AT_FDCWD, path, text, sizeof(text) - 1);
	if (n < 0)
		return;
	t->listed = true;
	text[n] = 0;
	for (long pid; t->n < DESCENDANTS_MAX && (pid = strtol(at, &end, 10)) > 0 && end > at;
		at = end)
		t->pid[t->n++] = pid;
}

static void add_thread_children(void *arg, const char *task)
{
	struct tree *t = arg;
	char text[512];
	const char *stat;

	if (strcmp(strrchr(task, '/') + 1, t->own) != 0 &&
		(stat = read_stat(task, text, sizeof(text))))
		t->busy |= *stat == 'R' || *stat == 'D';
	add_children(t, task);
}

static void add_descendant(struct tree *t, long pid)
{
	char name[24], path[64], text[512];
	unsigned long long user, system, waited_user, waited_system;
	const char *stat;
	uint64_t bytes;

	snprintf(name, sizeof(name), "%ld", pid);
	snprintf(path, sizeof(path), "/proc/%s", name);
	stat = read_stat(path, text, sizeof(text));
	if (!stat)
		return;
	t->busy |= *stat == 'D';
	t->born += (uint64_t)pid;
	if (sscanf(stat, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &user,
		    &system, &waited_user, &waited_system) == 4)
		t->ticks += user + system + waited_user + waited_system;
	snprintf(path, sizeof(path), "/proc/%s/io", name);
	if (read_io_bytes(path, &bytes))
		t->io_bytes += bytes;
	read_each_thread(name, add_children, t);
}

/* ---- the result ---- */

/*
 * False if a descendant started, ended, computed, read or wrote since `since`, or if there was no
 * earlier measurement.
 */
static bool are_descendants_idle(struct journal_progress *p, const struct tree *t, uint64_t since)
{
	long hertz = sysconf(_SC_CLK_TCK);
	uint64_t ns = t->ticks * (UINT64_C(1000000000) / (uint64_t)(hertz > 0 ? hertz : 100));
	bool looked = p->children_at_ns && p->children_at_ns == p->at_ns;
	bool still = !t->n || (looked && p->children_born == t->born && ns >= p->children_ns &&
				      (ns - p->children_ns) * 100 < since * CPU_PERCENT_MIN &&
				      !has_moved_bytes(p->children_io_bytes, t->io_bytes));

	p->children_ns = ns;
	p->children_io_bytes = t->io_bytes;
	p->children_born = t->born;
	return still;
}

void measure_progress(struct journal_progress *p)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), since = now - p->at_ns, cpu, io = 0, own = 0;
	struct tree t = {0};
	char tid[24];

	if (p->at_ns && since < MEASURE_NS)
		return;
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (read_io_bytes("/proc/self/io", &io) && read_io_bytes("/proc/thread-self/io", &own))
		io -= own < io ? own : io;
	else
		io = p->io_bytes;
	p->cpu_percent =
		p->at_ns && cpu > p->cpu_ns ? (uint32_t)((cpu - p->cpu_ns) * 100 / since) : 0;
	if (!p->at_ns || p->cpu_percent >= CPU_PERCENT_MIN || has_moved_bytes(p->io_bytes, io)) {
		p->moved_ns = now;
	} else {
		snprintf(tid, sizeof(tid), "%u", read_tid());
		t.own = tid;
		p->unseen = !read_each_thread("self", add_thread_children, &t) || !t.listed;
		for (unsigned i = 0; i < t.n; i++)
			add_descendant(&t, t.pid[i]);
		if (!are_descendants_idle(p, &t, since))
			p->moved_ns = now;
		else if (!t.busy)
			p->quiet_ns = now;
		p->children_at_ns = now;
	}
	p->cpu_ns = cpu;
	p->io_bytes = io;
	p->at_ns = now;
}
