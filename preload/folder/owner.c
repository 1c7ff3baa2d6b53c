/* SPDX-License-Identifier: Apache-2.0 */
#include "folder/owner.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "text/text.h"
#include "base/io.h"
#include "journal/segment.h"

static void read_line(const char *path, char *buf, size_t cap)
{
	ssize_t n = io_read_file(AT_FDCWD, path, buf, cap - 1);

	buf[n > 0 ? n : 0] = 0;
	buf[strcspn(buf, "\n")] = 0;
}

/*
 * Returns field 22 of /proc/<pid>/stat: start time in clock ticks since boot. 0: no such process,
 * or not readable.
 */
static uint64_t start_time(int64_t pid)
{
	char path[64], buf[1024];

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);

	ssize_t n = io_read_file(AT_FDCWD, path, buf, sizeof(buf) - 1);

	if (n <= 0)
		return 0;
	buf[n] = 0;

	/* The command in parentheses may itself contain spaces and parentheses. */
	char *p = strrchr(buf, ')');
	int field = 2;

	while (p && *p && field < 22)
		if (*p++ == ' ')
			field++;
	return p ? strtoull(p, NULL, 10) : 0;
}

static uint64_t read_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void owner_self(struct journal_owner *o)
{
	*o = (struct journal_owner){.pid = getpid(), .pid_ns = read_pid_namespace()};
	if (gethostname(o->host, sizeof(o->host) - 1) < 0)
		strcpy(o->host, "unknown");
	read_line("/proc/sys/kernel/random/boot_id", o->boot_id, sizeof(o->boot_id));
	o->start_time = start_time(o->pid);
}

uint64_t owner_start_ns(const struct journal_owner *o)
{
	uint64_t since_boot, tick = (uint64_t)sysconf(_SC_CLK_TCK);

	if (!o->start_time || !tick)
		return 0;
	since_boot = o->start_time / tick * 1000000000 + o->start_time % tick * (1000000000 / tick);
	return clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_BOOTTIME) + since_boot;
}

bool owner_is_of_this_boot(const struct journal_owner *o)
{
	struct journal_owner me;

	owner_self(&me);
	return *o->boot_id && strcmp(o->boot_id, me.boot_id) == 0;
}

bool owner_same(const struct journal_owner *a, const struct journal_owner *b)
{
	return a->pid == b->pid && a->start_time == b->start_time && a->pid_ns == b->pid_ns &&
	       strcmp(a->boot_id, b->boot_id) == 0 && strcmp(a->host, b->host) == 0;
}

/*
 * The file to search for in a list of mappings. The list has paths with symbolic links resolved,
 * so the file is recognised by its inode number; by its path only if it has been moved or
 * removed.
 */
struct wanted {
	const char *path, *base;
	bool exists;
	struct stat st;
	bool segment;
	struct segment shm;
};

static const char *get_path_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * A line is "lo-hi perms offset major:minor inode path". The device number is not compared: btrfs
 * and overlayfs show another one.
 */
static bool is_mapping_of(const struct wanted *w, char *line)
{
	unsigned dev_major, dev_minor, key;
	unsigned long long ino;
	int path = 0;

	/* For a segment, the inode number is its id, and the path is made from its key. */
	if (w->segment)
		return sscanf(line, "%*s %*s %*s %*s %llu /SYSV%x", &ino, &key) == 2 &&
		       ino == (unsigned long long)w->shm.id && key == w->shm.key;
	if (!w->exists)
		return strstr(line, w->path) != NULL;
	if (sscanf(line, "%*s %*s %*s %x:%x %llu %n", &dev_major, &dev_minor, &ino, &path) < 3 ||
		!path || ino != w->st.st_ino)
		return false;
	return (dev_major == major(w->st.st_dev) && dev_minor == minor(w->st.st_dev)) ||
	       strcmp(get_path_base_name(line + path), w->base) == 0;
}

/* Returns 1 if the process maps the file, 0 if not, -1: unknown. */
static int is_file_mapped(int64_t pid, const char *path)
{
	struct wanted w = {.path = path, .base = get_path_base_name(path)};
	char name[64], buf[8192]; /* lines are shorter: PATH_MAX and some numbers */
	size_t have = 0;
	ssize_t n;
	int found = 0;

	if (!path[0])
		return -1;
	w.segment = segment_parse(path, &w.shm);
	w.exists = !w.segment && stat(path, &w.st) == 0;
	snprintf(name, sizeof(name), "/proc/%lld/maps", (long long)pid);

	int fd = open(name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -1;
	while (!found && (n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *nl;

		have += (size_t)n;
		buf[have] = 0;
		for (; !found && (nl = strchr(line, '\n')); line = nl + 1) {
			*nl = 0;
			found = is_mapping_of(&w, line);
		}
		have -= (size_t)(line - buf);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1)
			have = 0;
	}
	close(fd);
	return found;
}

enum owner_life owner_life(const struct journal_owner *o, const char *journal_path)
{
	struct journal_owner me;

	if (o->pid <= 0)
		return OWNER_DEAD; /* no process has taken the folder */
	owner_self(&me);
	if (strcmp(me.host, o->host) || !me.boot_id[0])
		return OWNER_UNKNOWN;
	if (strcmp(me.boot_id, o->boot_id))
		return OWNER_DEAD;
	if (me.pid_ns != o->pid_ns)
		return OWNER_UNKNOWN;

	uint64_t start = start_time(o->pid);

	if (start == 0)
		return kill((pid_t)o->pid, 0) < 0 && errno == ESRCH ? OWNER_DEAD : OWNER_UNKNOWN;
	if (start != o->start_time)
		return OWNER_DEAD;
	return is_file_mapped(o->pid, journal_path) == 0 ? OWNER_DEAD : OWNER_LIVES;
}

void owner_format(struct text *t, const struct journal_owner *o)
{
	text_add_string(t, "\"owner\": {\"host\": ");
	text_add_json(t, o->host);
	text_add_string(t, ", \"boot_id\": ");
	text_add_json(t, o->boot_id);
	text_add_format(t, ", \"pid_ns\": %llu, \"pid\": %lld, \"start_time\": %llu}",
		(unsigned long long)o->pid_ns, (long long)o->pid,
		(unsigned long long)o->start_time);
}

/* Returns the position after `"key": ` in the text, or NULL. */
static const char *find_owner_value(const char *meta, const char *key)
{
	char pat[64];

	snprintf(pat, sizeof(pat), "\"%s\": ", key);

	const char *p = strstr(meta, pat);

	return p ? p + strlen(pat) : NULL;
}

void meta_string(const char *meta, const char *key, char *buf, size_t cap)
{
	const char *p = find_owner_value(meta, key);
	size_t n = 0;

	if (p && *p == '"')
		for (p++; *p && *p != '"' && n + 1 < cap; p++) {
			if (*p == '\\' && p[1])
				p++;
			buf[n++] = *p;
		}
	buf[text_parse_escapes(buf, buf, n)] = 0;
}

int owner_parse(const char *meta, struct journal_owner *o)
{
	const char *at = find_owner_value(meta, "owner"), *ns, *pid, *start;

	*o = (struct journal_owner){0};
	if (!at || *at != '{')
		return -EINVAL;
	meta_string(at, "host", o->host, sizeof(o->host));
	meta_string(at, "boot_id", o->boot_id, sizeof(o->boot_id));
	ns = find_owner_value(at, "pid_ns");
	pid = find_owner_value(at, "pid");
	start = find_owner_value(at, "start_time");
	if (!ns || !pid || !start)
		return -EINVAL;
	o->pid_ns = strtoull(ns, NULL, 10);
	o->pid = strtoll(pid, NULL, 10);
	o->start_time = strtoull(start, NULL, 10);
	return o->pid > 0 ? 0 : -EINVAL;
}
