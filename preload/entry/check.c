/* SPDX-License-Identifier: Apache-2.0 */
#include "entry/check.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/text.h"
#include "base/thread.h"
#include "call/api.h"
#include "entry/elfsym.h"
#include "session.h"

#define LINE_MAX_BYTES 1024

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
static void line(struct text *t, struct api *a)
{
	const struct api_spec *s = a->spec;
	struct provider p[2] = {{0}};
	int n = elfsym_after_us(s->symbol, p, 2);
	bool listed =
		s->task != TASK_DATA || wraplist_match(session.list, s->lib->name, s->list_name);

	text_str(t, s->symbol);
	text_char(t, '\t');
	text_str(t, s->lib->name);
	text_str(t, !n ? "\tmissing\t" : listed ? "\tok\t" : "\tskipped\t");
	text_u64(t, atomic_load(&a->hits));
	text_char(t, '\t');
	text_str(t, n ? p[0].path : "");
	text_char(t, '\t');
	if (n > 1) {
		text_str(t, "also defined by ");
		text_str(t, p[1].path);
	}
	text_char(t, '\n');
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

	size_t cap = LINE_MAX_BYTES * (size_t)(api_count + 2);
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
		for (unsigned i = 0; i < api_count; i++)
			line(&t, &api_table[i]);
		io_replace_file(AT_FDCWD, path, buf, t.len);
	}
	free(buf);
	thread_word.busy--;
}
