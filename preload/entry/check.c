/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/text.h"
#include "base/thread.h"
#include "call/api.h"
#include "entry/bind.h"
#include "entry/elfsym.h"
#include "entry/real.h"
#include "entry/runtime.h"
#include "entry/stub.h"
#include "session.h"

#define LINE_MAX_BYTES 1024
#define ROWS_MADE 8192 /* made at run time; beyond these the list ends */

static const char *folder(void)
{
	for (char *const *e = startup_env(); *e; e++)
		if (strncmp(*e, "PROBE_CHECK=", 12) == 0 && (*e)[12])
			return *e + 12;
	return NULL;
}

bool check_wanted(void)
{
	static int known;

	if (!known)
		known = folder() ? 1 : 2;
	return known == 1;
}

/* symbol, library, state, hits, object with the real function, note */
static void line(struct text *t, const char *symbol, const char *lib, const char *state,
	uint64_t hits, const char *where)
{
	text_str(t, symbol);
	text_char(t, '\t');
	text_str(t, lib);
	text_char(t, '\t');
	text_str(t, state);
	text_char(t, '\t');
	text_u64(t, hits);
	text_char(t, '\t');
	text_str(t, where);
	text_char(t, '\t');
}

static void row(struct api *a, void *arg)
{
	const struct api_spec *s = a->spec;
	struct provider p[2] = {{0}};
	int n = elfsym_after_us(real_name(s), p, 2);
	/* Adapters with rules of their own have chosen already: aten::add is add.Tensor in the row. */
	bool listed = s->task != TASK_DATA || a->traits & API_CHOSEN ||
		      wraplist_match(session.list, s->lib->name, s->list_name);
	struct text *t = arg;

	if (t->cap - t->len < LINE_MAX_BYTES)
		return;
	line(t, s->symbol, s->lib->name,
		!n	 ? "missing"
		: listed ? "ok"
			 : "skipped",
		atomic_load(&a->hits), n ? p[0].path : "");
	if (n > 1) {
		text_str(t, "also defined by ");
		text_str(t, p[1].path);
	}
	text_char(t, '\n');
}

/* A function without stub: it was there before us. */
static void missed(const char *name, const char *object, void *arg)
{
	struct api *a = runtime_make(name, object);
	struct text *t = arg;

	if (!a || t->cap - t->len < LINE_MAX_BYTES)
		return;
	line(t, a->spec->symbol, a->spec->lib->name, "missing", 0, object);
	text_str(t, "loaded at program start, out of reach: start it with `probe run`\n");
}

static void notes(struct text *t)
{
	const char *deep = stub_deepbound();

	if (!deep)
		return;
	text_str(t, "# note ");
	text_str(t, deep);
	text_str(t,
		" was loaded with RTLD_DEEPBIND: calls from it and from the libraries that come "
		"with it are out of reach\n");
}

void check_write(void)
{
	static _Atomic pid_t written;
	char path[4096], program[1024];
	const char *dir = folder();
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	pid_t last = written;

	if (!dir || last == getpid() || !atomic_compare_exchange_strong(&written, &last, getpid()))
		return;
	thread_word.busy++;
	session_configure();
	log_config_now();

	size_t cap = LINE_MAX_BYTES * (size_t)(api_count + ROWS_MADE);
	char *buf = malloc(cap);

	program[n > 0 ? n : 0] = 0;
	if (buf && session.list &&
		(size_t)snprintf(path, sizeof(path), "%s/%d.check", dir, (int)getpid()) <
			sizeof(path)) {
		struct text t = text_over(buf, cap);

		text_str(&t, "# libprobe " PROBE_VERSION " ");
		text_i64(&t, getpid());
		text_char(&t, ' ');
		text_str(&t, program);
		text_char(&t, '\n');
		notes(&t);
		for (unsigned i = 0; i < api_count; i++)
			row(&api_table[i], &t);
		if (runtime_any()) {
			bound_each(row, &t);
			stub_each(row, &t);
			stub_each_missed(missed, &t);
		}
		io_replace_file(AT_FDCWD, path, buf, t.len);
	}
	free(buf);
	thread_word.busy--;
}
