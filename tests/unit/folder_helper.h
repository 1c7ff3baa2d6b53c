/* SPDX-License-Identifier: Apache-2.0 */
/* An output folder with ranks' folders in it as other processes left them. */
#ifndef TESTS_UNIT_FOLDER_HELPER_H
#define TESTS_UNIT_FOLDER_HELPER_H

#include "core_helper.h"

#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "folder/folder.h"
#include "folder/owner.h"

static char out[64];

static inline char *at(const char *fmt, ...)
{
	static char path[4][256];
	static int turn;
	char *p = path[turn++ % 4];
	va_list ap;
	int n = snprintf(p, sizeof(path[0]), "%s/", out);

	va_start(ap, fmt);
	vsnprintf(p + n, sizeof(path[0]) - (size_t)n, fmt, ap);
	va_end(ap);
	return p;
}

static inline int begin(void **state)
{
	(void)state;
	make_tmp(out, sizeof(out));
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	remove_tree(out);
	return 0;
}

static inline size_t meta_for(char *buf, size_t cap, const struct journal_owner *o,
	const char *state, const char *journal)
{
	struct text t = text_init(buf, cap);

	text_add_string(&t, "{\n \"format\": 1,\n \"state\": ");
	text_add_json(&t, state);
	text_add_string(&t, ",\n ");
	owner_format(&t, o);
	text_add_string(&t, ",\n \"journal_path\": ");
	text_add_json(&t, journal);
	text_add_string(&t, "\n}\n");
	return t.len;
}

/* A folder as some process left it, with one file in it. */
static inline void old_folder(
	const char *name, const struct journal_owner *o, const char *state, const char *journal)
{
	char meta[2048], path[300];
	size_t n = meta_for(meta, sizeof(meta), o, state, journal);
	FILE *f;

	assert_int_equal(mkdir(at("%s", name), 0777), 0);
	snprintf(path, sizeof(path), "%s/meta.json", at("%s", name));
	f = fopen(path, "w");
	assert_int_equal(fwrite(meta, 1, n, f), n);
	fclose(f);
	snprintf(path, sizeof(path), "%s/old", at("%s", name));
	fclose(fopen(path, "w"));
}

static inline int take(struct folder *f, int rank, const char **other)
{
	char meta[2048];
	struct journal_owner me;
	size_t n;

	owner_self(&me);
	n = meta_for(meta, sizeof(meta), &me, "running", "");
	return folder_take(f, out, rank, &me, meta, n, NULL, other);
}

static inline bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Takes rank 0 and says under which name. */
static inline void check_take(const char *want, bool want_other)
{
	struct folder f;
	const char *other;

	assert_int_equal(take(&f, 0, &other), 0);
	assert_string_equal(f.path, at("%s", want));
	assert_int_equal(!!other, want_other);
	assert_int_equal(faccessat(f.dir.fd, "meta.json", F_OK, 0), 0);
	assert_int_equal(count_files(f.path, "meta.json"), 1);
	assert_int_equal(count_files(f.path, "moving"), 0);
	folder_close(&f);
}

static inline const char *second_name(void)
{
	static char name[40];

	snprintf(name, sizeof(name), "rank0-pid%d", (int)getpid());
	return name;
}

static inline struct journal_owner me(void)
{
	struct journal_owner o;

	owner_self(&o);
	return o;
}

/* A process of ours that is gone. */
static inline struct journal_owner dead(void)
{
	struct journal_owner o = me();
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	o.pid = pid;
	return o;
}

#endif
