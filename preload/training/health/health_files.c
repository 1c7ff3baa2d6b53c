/* SPDX-License-Identifier: Apache-2.0 */
#include "training/health/health_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "config/rooms/alerts.h"
#include "config/rooms/files.h"
#include "text/text.h"
#include "config/rooms/room.h"
#include "folder/json_member.h"

#define HEALTH_FOLDER "health"
#define HEALTH_FILE "health_ckpts.json"
#define ENTRIES_BYTES ((size_t)4 << 20)
#define LINES_BYTES ((size_t)256 << 10) /* bytes of a rank's file that are read at once */
#define ALERTS_BYTES ((size_t)4 << 20)
#define LINE_BYTES 9000
#define JOB_NS UINT64_C(600000000000) /* ranks of a job start within this time of each other */

static const char *get_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int handle_health_error(const char *file_name, int err)
{
	log_loss(LOSS_HEALTH, "%s: %s: the health of checkpoints is not written there", file_name,
		io_error_text(err));
	return err;
}

/* ---- members of lines that libprobe wrote ---- */

static uint64_t read_health_number(const char *line, const char *key)
{
	const char *p = find_line_member(line, key);

	return p && *p >= '0' && *p <= '9' ? strtoull(p, NULL, 10) : 0;
}

/* Copies the text of a member, with escaped quotes and backslashes restored. */
static bool read_health_text(const char *line, const char *key, char *to, size_t cap)
{
	const char *p = find_line_member(line, key);
	size_t n = 0;

	if (!p || *p != '"')
		return false;
	for (p++; *p && *p != '"' && n + 1 < cap; p++) {
		p += *p == '\\' && p[1];
		to[n++] = *p;
	}
	to[n] = 0;
	return *p == '"';
}

/* ---- health/rank<R>.jsonl ---- */

/*
 * Opens the folder. A link at its path is not followed, because another user may have made it.
 * Returns a descriptor or -errno.
 */
static int open_health_folder(const struct files *f, bool make)
{
	int out = open(get_files_keys(f->cfg)->output_dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (out < 0)
		return -errno;
	if (make)
		mkdirat(out, HEALTH_FOLDER, IO_FOLDER_MODE);
	fd = openat(out, HEALTH_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(out);
	return fd;
}

/*
 * True if the file belongs to the owner of libprobe's folder. This need not be geteuid(), because
 * servers map users.
 */
static bool is_own_file(const struct files *f, int fd)
{
	struct stat st, own;

	return fstat(fd, &st) == 0 && fstat(files_get_dir((struct files *)f), &own) == 0 &&
	       st.st_uid == own.st_uid && st.st_nlink == 1;
}

static int write_health_line(const struct files *f, const struct text *t)
{
	int32_t rank = f->j->head->rank;
	char name[40];
	int dir = open_health_folder(f, true), fd, err;

	if (dir < 0)
		return handle_health_error(HEALTH_FOLDER, dir);
	snprintf(name, sizeof(name), "rank%d.jsonl", rank < 0 ? 0 : rank);
	fd = io_open_regular(
		dir, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, IO_FILE_MODE);
	err = fd < 0 ? fd : t->cut ? -EMSGSIZE : !is_own_file(f, fd) ? -EPERM : 0;
	if (!err)
		err = io_write_all(fd, t->buf, t->len);
	if (fd >= 0)
		close(fd);
	close(dir);
	return err ? handle_health_error(name, err) : 0;
}

int health_write_head(const struct files *f)
{
	const struct journal_head *h = f->j->head;
	char buf[512];
	struct text t = text_init(buf, sizeof(buf));

	text_add_format(&t,
		"{\"rank\": %d, \"world_size\": %d, \"host\": ", h->rank < 0 ? 0 : h->rank,
		h->world_size);
	text_add_json(&t, h->owner.host);
	text_add_format(&t, ", \"pid\": %d, \"begun_ns\": ", (int)h->owner.pid);
	text_add_u64(&t, h->clock.real_ns);
	text_add_string(&t, "}\n");
	return write_health_line(f, &t);
}

static void write_health_value(struct text *t, double v)
{
	char digits[48];
	struct text d = text_init(digits, sizeof(digits));

	text_add_double(&d, v, 15);
	if (isfinite(v))
		text_add_string(t, digits);
	else
		text_add_json(t, digits);
}

static void write_health_reason(struct text *t, const struct files *f, const struct health_ckpt *c)
{
	const struct alerts_keys *keys = get_alerts_keys(f->cfg);
	char why[HEALTH_WHY_MAX + 200] = "";
	struct text w = text_init(why, sizeof(why));
	double most = keys->embedding_local_norm_threshold;

	if (!isfinite(c->value)) {
		text_add_string(&w, "the embedding's gradient is not finite");
	} else if (c->value >= most) {
		text_add_string(&w, keys->health_norm == HEALTH_L2
					    ? "the embedding's gradient has a norm of "
					    : "the embedding's gradient has a sum of squares of ");
		text_add_double(&w, c->value, 6);
		text_add_string(&w, ", threshold ");
		text_add_double(&w, most, 6);
	} else if (*c->alert) {
		text_add_string(&w, "alert: ");
		text_add_string(&w, c->alert);
	}
	text_add_json(t, why);
}

int health_write_line(const struct files *f, const struct health_ckpt *c)
{
	char buf[LINE_BYTES];
	struct text t = text_init(buf, sizeof(buf));

	text_add_string(&t, "{\"ckpt_name\": ");
	text_add_json(&t, get_file_name(c->path));
	text_add_string(&t, ", \"path\": ");
	text_add_json(&t, c->path);
	text_add_format(&t,
		", \"folder\": %s, \"step\": %u, \"begun_ns\": ", c->folder ? "true" : "false",
		c->step);
	text_add_u64(&t, c->begun_ns);
	text_add_string(&t, ", \"embedding_local_norm\": ");
	write_health_value(&t, c->value);
	text_add_string(&t, ", \"threshold\": ");
	write_health_value(&t, get_alerts_keys(f->cfg)->embedding_local_norm_threshold);
	text_add_format(&t, ", \"is_health\": %d, \"why\": ", !c->healthy);
	write_health_reason(&t, f, c);
	text_add_string(&t, "}\n");
	return write_health_line(f, &t);
}

/* ---- other ranks ---- */

static struct health_peer *find_health_peer(struct health_peers *p, int rank)
{
	struct health_peer *more;

	for (unsigned i = 0; i < p->n; i++)
		if (p->at[i].rank == rank)
			return &p->at[i];
	if (p->n == p->cap) {
		more = realloc(p->at, (p->cap ? 2 * p->cap : 16) * sizeof(*more));
		if (!more)
			return NULL;
		p->at = more;
		p->cap = p->cap ? 2 * p->cap : 16;
	}
	p->at[p->n] = (struct health_peer){.rank = rank};
	return &p->at[p->n++];
}

static void handle_health_head(struct health_peer *peer, const struct files *f, const char *line)
{
	const struct journal_head *h = f->j->head;
	const char *world = find_line_member(line, "world_size");

	peer->active = world && atoi(world) == h->world_size &&
		       read_health_number(line, "begun_ns") + JOB_NS >= h->clock.real_ns;
}

static void handle_health_lines(struct health_peer *peer, const struct files *f, char *line,
	health_line_fn *take, void *arg)
{
	struct health_line *l;
	const char *folder = find_line_member(line, "folder");

	if (!find_line_member(line, "ckpt_name")) {
		handle_health_head(peer, f, line);
		return;
	}
	l = peer->active ? calloc(1, sizeof(*l)) : NULL;
	if (!l)
		return;
	l->folder = folder && *folder == 't';
	l->healthy = read_health_number(line, "is_health") == 0;
	l->begun_ns = read_health_number(line, "begun_ns");
	l->step = (int64_t)read_health_number(line, "step");
	if (read_health_text(line, "path", l->path, sizeof(l->path)))
		take(arg, l);
	free(l);
}

static void read_health_peer(
	struct health_peer *peer, const struct files *f, int fd, health_line_fn *take, void *arg)
{
	char *buf = malloc(LINES_BYTES + 1), *line = buf, *end;
	ssize_t n = buf ? pread(fd, buf, LINES_BYTES, (off_t)peer->offset) : 0;

	if (n > 0) {
		buf[n] = 0;
		while ((end = memchr(line, '\n', (size_t)(buf + n - line)))) {
			*end = 0;
			handle_health_lines(peer, f, line, take, arg);
			line = end + 1;
		}
		peer->offset += (uint64_t)(line - buf);
	}
	free(buf);
}

void health_read_peers(
	struct health_peers *p, const struct files *f, health_line_fn *take, void *arg)
{
	int dir = open_health_folder(f, false);
	DIR *d = dir < 0 ? NULL : fdopendir(dir);

	if (!d && dir >= 0)
		close(dir);
	for (struct dirent *e; d && (e = readdir(d));) {
		struct health_peer *peer;
		int rank, used = 0, fd;

		if (sscanf(e->d_name, "rank%d.jsonl%n", &rank, &used) != 1 || !used ||
			e->d_name[used] || rank < 0 || !(peer = find_health_peer(p, rank)))
			continue;
		fd = io_open_regular(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC, 0);
		if (fd < 0)
			continue;
		if (is_own_file(f, fd))
			read_health_peer(peer, f, fd, take, arg);
		close(fd);
	}
	if (d)
		closedir(d);
	p->active = 0;
	for (unsigned i = 0; i < p->n; i++)
		p->active += p->at[i].active;
}

bool health_is_lowest(const struct health_peers *p, int rank)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->at[i].active && p->at[i].rank < rank)
			return false;
	return true;
}

void health_peers_free(struct health_peers *p)
{
	free(p->at);
	*p = (struct health_peers){0};
}

/* ---- health_ckpts.json ---- */

static void write_health_entry(struct text *t, unsigned *n, bool unhealthy, const char *quoted)
{
	text_add_string(t, (*n)++ ? ",\n    {\n" : "\n    {\n");
	text_add_format(t, "        \"is_health\": %d,\n        \"ckpt_name\": %s\n    }",
		unhealthy, quoted);
}

/* Writes the existing entries, except that of checkpoint `quoted`, in their order. */
static void write_old_entries(struct text *t, unsigned *n, const char *old, const char *quoted)
{
	for (const char *p = strchr(old, '{'); p; p = strchr(p + 1, '{')) {
		const char *at = p;
		struct json_span key, value;
		char name[5000] = "";
		bool unhealthy = false;

		while (json_member_next(&at, &key, &value)) {
			if (key.n == 11 && memcmp(key.at, "\"ckpt_name\"", 11) == 0 &&
				value.n < sizeof(name))
				snprintf(name, sizeof(name), "%.*s", (int)value.n, value.at);
			else if (key.n == 11 && memcmp(key.at, "\"is_health\"", 11) == 0)
				unhealthy = value.n == 1 && *value.at == '1';
		}
		if (*name && strcmp(name, quoted))
			write_health_entry(t, n, unhealthy, name);
	}
}

/* Writes <folder>.ckpt_status next to the folder, whose content belongs to torch. */
static void write_ckpt_status(const struct health_ckpt *c)
{
	char path[4300], buf[64], *slash;
	int fd, n = snprintf(buf, sizeof(buf), "{\"ckpt_status\": %d}\n", c->against != 0), err;

	snprintf(path, sizeof(path), "%s", c->path);
	slash = strrchr(path, '/');
	if (!slash)
		return;
	*slash = 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s.ckpt_status", get_file_name(c->path));
	err = fd < 0 ? -errno : io_replace_file(fd, path, buf, (size_t)n);
	if (fd >= 0)
		close(fd);
	if (err)
		handle_health_error(path, err);
}

int health_lock_entries(const struct files *f)
{
	int dir = open(get_files_keys(f->cfg)->output_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	/* If the file system cannot lock folders, no rank is excluded. */
	if (dir < 0 || (flock(dir, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)) {
		int err = dir < 0 ? -errno : -EWOULDBLOCK;

		if (dir >= 0)
			close(dir);
		return err;
	}
	return dir;
}

int health_write_entry(const struct files *f, const struct health_ckpt *c)
{
	char *old = calloc(1, ENTRIES_BYTES), *buf = malloc(ENTRIES_BYTES), quoted[5000];
	struct text q = text_init(quoted, sizeof(quoted));
	int dir = open(get_files_keys(f->cfg)->output_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = !old || !buf ? -ENOMEM : dir < 0 ? -errno : 0;
	unsigned n = 0;

	if (!err) {
		struct text t = text_init(buf, ENTRIES_BYTES);

		io_read_file(dir, HEALTH_FILE, old, ENTRIES_BYTES - 1);
		text_add_json(&q, get_file_name(c->path));
		text_add_char(&t, '[');
		write_old_entries(&t, &n, old, quoted);
		write_health_entry(&t, &n, c->against != 0, quoted);
		text_add_string(&t, "\n]");
		err = t.cut || q.cut ? -EMSGSIZE : io_replace_file(dir, HEALTH_FILE, t.buf, t.len);
	}
	if (dir >= 0)
		close(dir);
	free(old);
	free(buf);
	if (err)
		return handle_health_error(HEALTH_FILE, err);
	if (c->folder)
		write_ckpt_status(c);
	return 0;
}

/* ---- alerts ---- */

bool health_find_alert_between(int dirfd, int64_t before, uint32_t step, char *why, size_t cap)
{
	char *buf = malloc(ALERTS_BYTES), *line, *save = NULL;
	ssize_t n = buf ? io_read_file(dirfd, "alerts.jsonl", buf, ALERTS_BYTES - 1) : 0;
	bool found = false;

	if (n > 0) {
		buf[n] = 0;
		for (line = strtok_r(buf, "\n", &save); line && !found;
			line = strtok_r(NULL, "\n", &save)) {
			int64_t first = (int64_t)read_health_number(line, "first_step");
			int64_t last = (int64_t)read_health_number(line, "last_step");

			/*
			 * If the alert fired before and after the range, it is not known whether
			 * it fired in between.
			 */
			found = (first > before && first <= step) ||
				(last > before && last <= step) ||
				(read_health_number(line, "count") > 2 && first <= before &&
					last > step);
			if (found && !read_health_text(line, "text", why, cap))
				snprintf(why, cap, "of step %lld", (long long)first);
		}
	}
	free(buf);
	return found;
}
